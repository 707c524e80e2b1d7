"""What tests of the package check with."""


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def raised(kind, call, *words):
    try:
        call()
    except kind as e:
        check(all(word in str(e) for word in words), repr(e), "lacks one of", words)
        return e
    raise AssertionError("no %s" % kind.__name__)
