/* Parts of the page that are read anew when an event names them: at most one request a part under way, and events that come
 * meanwhile or in quick succession make one more. */
const GATHER_MS = 150; /* an epoch's end is several events */

/* read(signal): a promise; it fetches and shows. failed(error): it could not. The result: {touch(): soon, now(): at once,
 * what the reader asked for, close()}. */
export function part(read, failed) {
  const stop = new AbortController();
  let timer = 0, busy = false, dirty = false;

  async function run() {
    clearTimeout(timer);
    timer = 0;
    if (busy) {
      dirty = true;
      return;
    }
    busy = true;
    dirty = false;
    try {
      await read(stop.signal);
    } catch (why) {
      if (!stop.signal.aborted) failed(why);
    }
    busy = false;
    if (dirty && !stop.signal.aborted) touch();
  }

  function touch() {
    if (busy) dirty = true;
    else if (!timer) timer = setTimeout(run, GATHER_MS);
  }

  return { touch, now: run, close() { clearTimeout(timer); stop.abort(); } };
}
