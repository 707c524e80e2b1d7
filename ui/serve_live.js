/* The stream of the server's events: "connecting", "live", "reconnecting", and "paused" while nobody looks at the page.
 *
 * The browser's own reconnecting gives up at the first answer that is not a stream, and does not wait longer each time: here a
 * new stream is opened after 1, 2, 4 ... 30 s, shortened by up to a quarter at random so that pages do not come back all at once. */
const FIRST_WAIT_MS = 1000, LONGEST_WAIT_MS = 30000;

/* url: of the stream. names: of the events that are listened to. on.event(name, data): an event. on.state(state): it has changed.
 * on.opened(): anything may have happened while no stream was open. on.retrying(): one is opened after a failure. */
export function openStream(url, names, on) {
  let source = null, timer = 0, failures = 0, state = "";

  function become(next) {
    if (next === state) return;
    state = next;
    on.state(state);
  }

  function close() {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
  }

  function retry() {
    close();
    const wait = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS) * (1 - Math.random() / 4);
    failures++;
    become("reconnecting");
    timer = setTimeout(() => {
      on.retrying();
      open();
    }, wait);
  }

  function open() {
    close();
    if (document.hidden) return become("paused");
    if (!state || state === "paused") become("connecting");
    source = new EventSource(url);
    source.addEventListener("open", () => {
      failures = 0;
      become("live");
      on.opened();
    });
    source.addEventListener("error", retry);
    for (const name of names)
      source.addEventListener(name, (event) => on.event(name, event.data ? JSON.parse(event.data) : null));
  }

  function visibility() {
    if (!document.hidden) return open();
    close();
    become("paused");
  }

  const stop = new AbortController(), { signal } = stop;
  document.addEventListener("visibilitychange", visibility, { signal });
  addEventListener("pagehide", close, { signal });
  addEventListener("pageshow", (shown) => { if (shown.persisted) open(); }, { signal });
  addEventListener("online", () => { if (state === "reconnecting") open(); }, { signal });
  open();

  return {
    close() {
      stop.abort();
      close();
    },
  };
}
