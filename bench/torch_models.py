"""The networks in PyTorch, for bench/train_step.py and tools/oracle: torchvision's definitions, with its names of
parameters, and the smaller shapes that wattlaw calls tiny."""


def resnet50(torch, classes=1000, width=64, blocks=(3, 4, 6, 3)):
    nn = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
            self.relu, self.downsample = nn.ReLU(inplace=True), None
            if stride > 1 or channels != 4 * width:
                self.downsample = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False),
                                                nn.BatchNorm2d(4 * width))

        def forward(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            return self.relu(self.bn3(self.conv3(y)) + (self.downsample(x) if self.downsample else x))

    class ResNet50(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
            self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
            channels = width
            for stage, count in enumerate(blocks):
                stack = []
                for block in range(count):
                    stack.append(Bottleneck(channels, width << stage, 2 if stage and not block else 1))
                    channels = 4 * width << stage
                self.add_module(f"layer{stage + 1}", nn.Sequential(*stack))
            self.fc = nn.Linear(channels, classes)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))

    return ResNet50()


def vgg16(torch, classes=1000, stages=((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)), hidden=4096, grid=7):
    """Images must leave a map of grid x grid, or of a multiple."""
    nn = torch.nn
    layers, channels = [], 3
    for width, convs in stages:
        for _ in range(convs):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        layers.append(nn.MaxPool2d(2, 2))

    class VGG16(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(*layers)
            self.classifier = nn.Sequential(nn.Linear(channels * grid * grid, hidden), nn.ReLU(inplace=True),
                                            nn.Dropout(), nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
                                            nn.Dropout(), nn.Linear(hidden, classes))

        def forward(self, x):
            x = nn.functional.adaptive_avg_pool2d(self.features(x), grid)
            return self.classifier(x.flatten(1))

    return VGG16()


def inception3(torch, classes=1000, tiny=False):
    """In training the result is the pair (logits, auxiliary logits). `tiny` has an eighth of the channels, in whole
    blocks of 16, one block of each kind and smaller windows in the auxiliary head."""
    nn = torch.nn
    aux_window, aux_stride, aux_kernel = (2, 1, 3) if tiny else (5, 3, 5)
    mean3, max3 = nn.AvgPool2d(3, 1, 1), nn.MaxPool2d(3, 2)

    def width(channels):
        return -(-channels // 8 // 16) * 16 if tiny else channels

    class Unit(nn.Module):
        def __init__(self, channels, to, kernel, stride=1, padding=0):
            super().__init__()
            self.conv = nn.Conv2d(channels, width(to), kernel, stride, padding, bias=False)
            self.bn = nn.BatchNorm2d(width(to), eps=1e-3)

        def forward(self, x):
            return nn.functional.relu(self.bn(self.conv(x)), inplace=True)

    class Block(nn.Module):
        """Branches are chains of units; a chain that ends in a tuple ends in several units side by side."""

        def __init__(self, channels, branches, pool=None, reduce=False):
            super().__init__()
            self.chains, self.reduce = [], reduce
            self.channels = width(pool) if pool else channels  # of the result
            for chain in branches:
                at = channels
                for links in chain:
                    links = links if isinstance(links, list) else [links]
                    for name, *shape in links:
                        self.add_module(name, Unit(at, *shape))
                    at = width(links[0][1])
                self.channels += at * len(links)
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

    def b(channels):
        return Block(channels, [[("branch3x3", 384, 3, 2)],
                                [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3, 1, 1),
                                 ("branch3x3dbl_3", 96, 3, 2)]], reduce=True)

    def c(channels, to):
        return Block(channels, [[("branch1x1", 192, 1)],
                                [("branch7x7_1", to, 1), ("branch7x7_2", to, wide, 1, low),
                                 ("branch7x7_3", 192, high, 1, lower)],
                                [("branch7x7dbl_1", to, 1), ("branch7x7dbl_2", to, high, 1, lower),
                                 ("branch7x7dbl_3", to, wide, 1, low), ("branch7x7dbl_4", to, high, 1, lower),
                                 ("branch7x7dbl_5", 192, wide, 1, low)]], 192)

    def d(channels):
        return Block(channels, [[("branch3x3_1", 192, 1), ("branch3x3_2", 320, 3, 2)],
                                [("branch7x7x3_1", 192, 1), ("branch7x7x3_2", 192, wide, 1, low),
                                 ("branch7x7x3_3", 192, high, 1, lower), ("branch7x7x3_4", 192, 3, 2)]], reduce=True)

    def e(channels):
        def both(name):
            return [(name + "a", 384, (1, 3), 1, (0, 1)), (name + "b", 384, (3, 1), 1, (1, 0))]
        return Block(channels, [[("branch1x1", 320, 1)], [("branch3x3_1", 384, 1), both("branch3x3_2")],
                                [("branch3x3dbl_1", 448, 1), ("branch3x3dbl_2", 384, 3, 1, 1),
                                 both("branch3x3dbl_3")]], 192)

    class Auxiliary(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv0, self.conv1 = Unit(channels, 128, 1), Unit(width(128), 768, aux_kernel)
            self.fc = nn.Linear(width(768), classes)

        def forward(self, x):
            x = self.conv1(self.conv0(nn.functional.avg_pool2d(x, aux_window, aux_stride)))
            return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))

    class Inception3(nn.Module):
        def __init__(self):
            super().__init__()
            stem = [("1a_3x3", 32, 3, 2), ("2a_3x3", 32, 3), ("2b_3x3", 64, 3, 1, 1), ("3b_1x1", 80, 1),
                    ("4a_3x3", 192, 3)]
            self.stem, channels = [], 3
            for name, to, *shape in stem:
                self.stem.append("Conv2d_" + name)
                self.add_module(self.stem[-1], Unit(channels, to, *shape))
                channels = width(to)
            pooled, seven, ends = ((64,), (128,), 1) if tiny else ((32, 64, 64), (128, 160, 160, 192), 2)
            before = [(f"Mixed_5{x}", a, w) for x, w in zip("bcd", pooled)] + [("Mixed_6a", b)]
            before += [(f"Mixed_6{x}", c, w) for x, w in zip("bcde", seven)]
            after = [("Mixed_7a", d)] + [(f"Mixed_7{x}", e) for x in "bc"[:ends]]
            self.before_aux, channels = self.stack(channels, before)
            self.AuxLogits = Auxiliary(channels)
            self.after_aux, channels = self.stack(channels, after)
            self.dropout, self.fc = nn.Dropout(), nn.Linear(channels, classes)

        def stack(self, channels, blocks):
            """Adds blocks of (name, how, ...); their names, and the channels of the last."""
            for name, how, *shape in blocks:
                self.add_module(name, how(channels, *shape))
                channels = getattr(self, name).channels
            return [name for name, *_ in blocks], channels

        def forward(self, x):
            for i, name in enumerate(self.stem):
                x = getattr(self, name)(x)
                x = max3(x) if i in (2, 4) else x
            for name in self.before_aux:
                x = getattr(self, name)(x)
            aux = self.AuxLogits(x) if self.training else None
            for name in self.after_aux:
                x = getattr(self, name)(x)
            y = self.fc(self.dropout(nn.functional.adaptive_avg_pool2d(x, 1)).flatten(1))
            return (y, aux) if self.training else y

    return Inception3()


MODELS = {"resnet50": (resnet50, 224), "vgg16": (vgg16, 224), "inception3": (inception3, 299)}  # and pixels

TINY = {"resnet50": {"width": 16, "blocks": (1, 1, 1, 1)},
        "vgg16": {"stages": ((16, 1), (32, 1), (64, 1), (64, 1), (64, 1)), "hidden": 128, "grid": 1},
        "inception3": {"tiny": True}}  # their other arguments at that size


def loss(torch, result, labels):
    """Cross-entropy, with .4 of the auxiliary head's where there is one."""
    entropy = torch.nn.functional.cross_entropy
    if isinstance(result, tuple):
        return entropy(result[0], labels) + 0.4 * entropy(result[1], labels)
    return entropy(result, labels)


class Images:
    """A network and what it is trained on."""

    def __init__(self, torch, name, layout, batch):
        make, pixels = MODELS[name]
        self.torch, self.model = torch, make(torch)
        self.images, self.labels = torch.randn(batch, 3, pixels, pixels), torch.randint(0, 1000, (batch,))
        if layout == "channels_last":
            self.model = self.model.to(memory_format=torch.channels_last)
            self.images = self.images.contiguous(memory_format=torch.channels_last)

    def optimizer(self, parameters, tuned):
        fused = "fused" in self.torch.optim.SGD.__init__.__code__.co_varnames
        how = ({"fused": True} if fused else {"foreach": True}) if tuned else {}
        return self.torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, weight_decay=1e-4, **how)

    def loss(self, model):
        """`model`: the network, or what has been put around it."""
        return loss(self.torch, model(self.images), self.labels)
