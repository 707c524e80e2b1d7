"""BERT-base in PyTorch, for bench/train_step.py: masked-language-model training of random tokens.

Two of them: "transformers" is Hugging Face's BertForMaskedLM as it comes, with scaled_dot_product_attention, whose
decoder works at all positions; "encoder" is torch.nn.TransformerEncoder with embeddings and head around it, whose
decoder works at the masked positions alone, as wattlaw's does. Both drop out .1."""

VOCABULARY, FEATURES, HEADS, HIDDEN, LAYERS, POSITIONS = 30522, 768, 12, 3072, 12, 512
KINDS = ("transformers", "encoder")


def transformers_model(torch):
    import transformers
    transformers.logging.set_verbosity_error()
    return transformers.BertForMaskedLM(transformers.BertConfig(attn_implementation="sdpa"))


def encoder_model(torch):
    nn = torch.nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.word, self.position = nn.Embedding(VOCABULARY, FEATURES), nn.Embedding(POSITIONS, FEATURES)
            self.kind = nn.Embedding(2, FEATURES)
            self.norm, self.dropout = nn.LayerNorm(FEATURES, eps=1e-12), nn.Dropout(0.1)
            layer = nn.TransformerEncoderLayer(FEATURES, HEADS, HIDDEN, 0.1, "gelu", 1e-12, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
            self.transform, self.last = nn.Linear(FEATURES, FEATURES), nn.LayerNorm(FEATURES, eps=1e-12)
            self.decoder = nn.Linear(FEATURES, VOCABULARY)
            self.decoder.weight = self.word.weight

        def forward(self, tokens, places):
            x = self.word(tokens) + self.position.weight[:tokens.shape[1]] + self.kind.weight[0]
            x = self.encoder(self.dropout(self.norm(x))).flatten(0, 1)[places]
            x = nn.functional.gelu(self.transform(x)).float()  # PyTorch 1.13 has no norm of mixed types
            return self.decoder(self.last(x))

    return Encoder()


class Bert:
    """A module and what it is trained on; as many masked positions as wattlaw has."""

    def __init__(self, torch, kind, batch, sequence):
        self.torch, self.kind, count = torch, kind, -(-sequence * 15 // 100)
        self.model = (transformers_model if kind == "transformers" else encoder_model)(torch)
        with torch.no_grad():
            for p in self.model.parameters():
                if p.dim() > 1:
                    p.normal_(0, 0.02)
        self.tokens = torch.randint(0, VOCABULARY, (batch, sequence))
        each = torch.arange(count) * sequence // count
        self.places = (each + sequence * torch.arange(batch)[:, None]).flatten()
        self.labels = torch.randint(0, VOCABULARY, (batch * count,))
        self.all_labels = torch.full((batch * sequence,), -100).index_put((self.places,), self.labels)

    def optimizer(self, parameters, tuned):
        fused = "fused" in self.torch.optim.AdamW.__init__.__code__.co_varnames
        how = ({"fused": True} if fused else {"foreach": True}) if tuned else {}
        return self.torch.optim.AdamW(parameters, lr=5e-5, weight_decay=0, **how)

    def loss(self, model):
        """`model`: the module, or what has been put around it."""
        if self.kind == "transformers":
            return model(input_ids=self.tokens, labels=self.all_labels.view_as(self.tokens)).loss
        return self.torch.nn.functional.cross_entropy(model(self.tokens, self.places).float(), self.labels)
