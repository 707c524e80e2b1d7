"""The page through a real nginx with a path of its own, in Chromium, and over IPv6: proxy.py WATTLAW TOY
Its styles and scripts load under its policy, the token's cookie is kept, and events come through as they happen."""
import contextlib
import shutil
import socket
import sys

from page import *  # noqa: F403

NGINX = """daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port};
        location /wattlaw/ {{ {proxy} }}
    }}
}}
"""
PROXY = "proxy_pass http://127.0.0.1:{port}; proxy_http_version 1.1; proxy_set_header Host $host; proxy_set_header Connection '';"  # docs/reference/serve.md


@contextlib.contextmanager
def nginx(bench, to_port):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    config = bench.write("nginx.conf", NGINX.format(folder=bench.folder, port=port, proxy=PROXY.format(port=to_port)))
    with subprocess.Popen([shutil.which("nginx", path="/usr/sbin:" + os.environ["PATH"]), "-p", bench.folder, "-e", bench.path("error.log"), "-c", config],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        try:
            bench.wait_until("nginx listens", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
            yield port
        finally:
            p.terminate()


def through_nginx(bench):
    """The page asks for the token, keeps it, and shows a run that begins and ends while it is open."""
    bench.run("sweep", experiment(bench), "--quiet", status=None)
    with open(bench.path("token"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write(TOKEN + "\n")
    server = Server(bench, "lab", "--port", "0", "--base-path", "/wattlaw", "--host", "localhost", "--token-file", bench.path("token"))
    browser = the_browser()
    with nginx(bench, server.port) as port:
        browser.errors.clear()
        browser.open(f"http://localhost:{port}/wattlaw/")
        browser.wait("document.getElementById('login')?.hidden === false")
        type_into(browser, "#token", TOKEN)
        browser.eval("document.getElementById('login').requestSubmit()")
        browser.wait("document.querySelectorAll('.campaign').length === 1")
        check(browser.eval("getComputedStyle(document.body).margin") is not None and browser.eval("document.cookie") == "", "the cookie is not HttpOnly")
        browser.open("about:blank")
        browser.open(f"http://localhost:{port}/wattlaw/#/runs")  # the cookie lasts
        browser.wait(f"{ROWS}.length === 4")
        bench.run("measure", "--store", "lab/wattlaw.db", "--sensors", "proc", "--", "toy", "epochs=1", "ms=20")
        took = browser.wait(f"{ROWS}.length === 5")
        print(f"the run was there {took:.1f} s after its end")
        check(browser.eval("performance.getEntriesByType('resource').every((e) => e.name.includes('/wattlaw/'))"), "something is fetched from elsewhere")
        errors = [e for e in browser.errors if "401" not in e]  # before the token was given
        check(not errors, "errors of the page:", *errors)
        browser.open("about:blank")
    server.stop()


def ipv6(bench):
    """On [::1], and with that Host header alone of all IPv6 ones."""
    bench.run("sweep", experiment(bench), "--quiet", status=None)
    server = bench.start("serve", "lab", "--port", "0", "--address", "::1")
    url = server.stdout.readline().strip()
    check(url.startswith("http://[::1]:"), url)
    port = int(url.rsplit(":", 1)[1].split("/")[0])
    for host, status in ((f"[::1]:{port}", b"200"), ("[::1]", b"200"), ("localhost", b"200"), ("[2001:db8::1]", b"421"), ("[::1", b"421"), ("::1", b"421"), ("[::1]x", b"421")):
        with socket.create_connection(("::1", port), timeout=PATIENCE_S) as s:
            s.sendall(f"GET /api/v1/session HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = s.makefile("rb").read()
            check(answer[9:12] == status, "Host", host, answer[:200])
    browser = the_browser()
    browser.errors.clear()
    browser.open(url)
    browser.wait("document.querySelectorAll('.campaign').length === 1")
    check(not browser.errors, "errors of the page:", *browser.errors)
    browser.open("about:blank")
    server.terminate()
    server.communicate(timeout=PATIENCE_S)


if __name__ == "__main__":
    if not shutil.which("nginx", path="/usr/sbin:" + os.environ["PATH"]):
        sys.exit("nginx is missing: tools/packages installs it")
    try:
        main([through_nginx, ipv6])
    finally:
        for one in browsers:
            one.close()
