"""Small sets of images for the end-to-end tests."""
from harness import *

DATA = os.path.join(WORK, "images")
TINY = ["resnet50", "--data", DATA, "--size", "tiny", "--image-size", "32", "--quiet"]


def images(classes=4, train=192, val=48, size=40, to=DATA, options=()):
    p = run("data", "imagenet", "--synthetic", to, "--classes", classes, "--images", train, "--val-images", val,
            "--image-size", size, "--quiet", *options)
    assert p.returncode == 0, p.stderr
