"""The networks in PyTorch, for bench/train_step.py. Parameters of vgg16 and inception3 are called as in torchvision."""


def resnet50(torch):
    nn = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
            self.relu, self.down = nn.ReLU(inplace=True), None
            if stride > 1 or channels != 4 * width:
                self.down = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False),
                                          nn.BatchNorm2d(4 * width))

        def forward(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            return self.relu(self.bn3(self.conv3(y)) + (self.down(x) if self.down else x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(channels, 64 << stage, 2 if stage and not block else 1))
            channels = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def vgg16(torch, drop=0.5):
    nn = torch.nn
    layers, channels = [], 3
    for width, convs in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(convs):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        layers.append(nn.MaxPool2d(2, 2))

    class VGG16(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(*layers)
            self.classifier = nn.Sequential(nn.Linear(512 * 49, 4096), nn.ReLU(inplace=True), nn.Dropout(drop),
                                            nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(drop),
                                            nn.Linear(4096, 1000))

        def forward(self, x):
            return self.classifier(self.features(x).flatten(1))

    return VGG16()


def inception3(torch, drop=0.5):
    """In training the result is the pair (logits, auxiliary logits)."""
    nn = torch.nn
    mean3, max3 = nn.AvgPool2d(3, 1, 1), nn.MaxPool2d(3, 2)

    class Unit(nn.Module):
        def __init__(self, channels, to, kernel, stride=1, padding=0):
            super().__init__()
            self.conv = nn.Conv2d(channels, to, kernel, stride, padding, bias=False)
            self.bn = nn.BatchNorm2d(to, eps=1e-3)

        def forward(self, x):
            return nn.functional.relu(self.bn(self.conv(x)), inplace=True)

    class Block(nn.Module):
        """Branches are chains of units; a chain that ends in a tuple ends in several units side by side."""

        def __init__(self, channels, branches, pool=None, reduce=False):
            super().__init__()
            self.chains, self.reduce = [], reduce
            for chain in branches:
                at = channels
                for links in chain:
                    links = links if isinstance(links, list) else [links]
                    for name, *shape in links:
                        self.add_module(name, Unit(at, *shape))
                    at = links[0][1]
                self.chains.append([[l[0] for l in (k if isinstance(k, list) else [k])] for k in chain])
            if pool:
                self.branch_pool = Unit(channels, pool, 1)

        def forward(self, x):
            out = []
            for chain in self.chains:
                y = x
                for links in chain:
                    ends = [getattr(self, name)(y) for name in links]
                    y = ends[0]
                out += ends
            out.append(max3(x) if self.reduce else self.branch_pool(mean3(x)))
            return torch.cat(out, 1)

    wide, high = (1, 7), (7, 1)
    low, lower = (0, 3), (3, 0)

    def a(channels, pool):
        return Block(channels, [[("branch1x1", 64, 1)], [("branch5x5_1", 48, 1), ("branch5x5_2", 64, 5, 1, 2)],
                                [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3, 1, 1),
                                 ("branch3x3dbl_3", 96, 3, 1, 1)]], pool)

    def c(width):
        return Block(768, [[("branch1x1", 192, 1)],
                           [("branch7x7_1", width, 1), ("branch7x7_2", width, wide, 1, low),
                            ("branch7x7_3", 192, high, 1, lower)],
                           [("branch7x7dbl_1", width, 1), ("branch7x7dbl_2", width, high, 1, lower),
                            ("branch7x7dbl_3", width, wide, 1, low), ("branch7x7dbl_4", width, high, 1, lower),
                            ("branch7x7dbl_5", 192, wide, 1, low)]], 192)

    def e(channels):
        def both(name):
            return [(name + "a", 384, (1, 3), 1, (0, 1)), (name + "b", 384, (3, 1), 1, (1, 0))]
        return Block(channels, [[("branch1x1", 320, 1)], [("branch3x3_1", 384, 1), both("branch3x3_2")],
                                [("branch3x3dbl_1", 448, 1), ("branch3x3dbl_2", 384, 3, 1, 1),
                                 both("branch3x3dbl_3")]], 192)

    class Auxiliary(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv0, self.conv1, self.fc = Unit(768, 128, 1), Unit(128, 768, 5), nn.Linear(768, 1000)

        def forward(self, x):
            x = self.conv1(self.conv0(nn.functional.avg_pool2d(x, 5, 3)))
            return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))

    class Inception3(nn.Module):
        def __init__(self):
            super().__init__()
            stem = [("1a_3x3", 3, 32, 3, 2), ("2a_3x3", 32, 32, 3), ("2b_3x3", 32, 64, 3, 1, 1), ("3b_1x1", 64, 80, 1),
                    ("4a_3x3", 80, 192, 3)]
            self.stem = ["Conv2d_" + name for name, *_ in stem]
            for name, *shape in stem:
                self.add_module("Conv2d_" + name, Unit(*shape))
            self.Mixed_5b, self.Mixed_5c, self.Mixed_5d = a(192, 32), a(256, 64), a(288, 64)
            self.Mixed_6a = Block(288, [[("branch3x3", 384, 3, 2)],
                                        [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3, 1, 1),
                                         ("branch3x3dbl_3", 96, 3, 2)]], reduce=True)
            self.Mixed_6b, self.Mixed_6c, self.Mixed_6d, self.Mixed_6e = c(128), c(160), c(160), c(192)
            self.AuxLogits = Auxiliary()
            self.Mixed_7a = Block(768, [[("branch3x3_1", 192, 1), ("branch3x3_2", 320, 3, 2)],
                                        [("branch7x7x3_1", 192, 1), ("branch7x7x3_2", 192, wide, 1, low),
                                         ("branch7x7x3_3", 192, high, 1, lower), ("branch7x7x3_4", 192, 3, 2)]],
                                  reduce=True)
            self.Mixed_7b, self.Mixed_7c = e(1280), e(2048)
            self.dropout, self.fc = nn.Dropout(drop), nn.Linear(2048, 1000)

        def forward(self, x):
            for i, name in enumerate(self.stem):
                x = getattr(self, name)(x)
                x = max3(x) if i in (2, 4) else x
            for name in ("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e"):
                x = getattr(self, "Mixed_" + name)(x)
            aux = self.AuxLogits(x) if self.training else None
            x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
            y = self.fc(self.dropout(nn.functional.adaptive_avg_pool2d(x, 1)).flatten(1))
            return (y, aux) if self.training else y

    return Inception3()


MODELS = {"resnet50": (resnet50, 224), "vgg16": (vgg16, 224), "inception3": (inception3, 299)}  # and pixels


def loss(torch, result, labels):
    """Cross-entropy, with .4 of the auxiliary head's where there is one."""
    entropy = torch.nn.functional.cross_entropy
    if isinstance(result, tuple):
        return entropy(result[0], labels) + 0.4 * entropy(result[1], labels)
    return entropy(result, labels)
