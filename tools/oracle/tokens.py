#!/usr/bin/env python3
"""tests/golden/text: a mixed text, a vocabulary and the tokens that Hugging Face's tokenizers makes of it.

    V/bin/pip install tokenizers
    V/bin/python tools/oracle/tokens.py

The text is of files of any Debian machine that may be copied (licences, glibc's locale data), of every character that
Unicode 3.2 had, one per line between letters, and of random strings of characters that are hard. Characters that the
reference treats by older tables of Unicode than Python's are left out; the script prints how many."""
import glob
import hashlib
import json
import lzma
import os
import random
import unicodedata

from tokenizers import BertWordPieceTokenizer, normalizers, pre_tokenizers

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "..", "tests", "golden", "text")
OLD = unicodedata.ucd_3_2_0
LOCALES = ("ar_SA am_ET be_BY bg_BG bn_BD bo_CN cs_CZ de_DE dv_MV el_GR fa_IR fi_FI fr_FR gu_IN he_IL hi_IN hr_HR hu_HU "
           "hy_AM is_IS ja_JP ka_GE kk_KZ km_KH kn_IN ko_KR ky_KG lo_LA lt_LT lv_LV ml_IN mn_MN mr_IN my_MM ne_NP or_IN "
           "pa_IN pl_PL ps_AF pt_PT ro_RO ru_RU sa_IN si_LK sk_SK sr_RS sv_SE ta_IN te_IN th_TH ti_ER tr_TR ug_CN uk_UA "
           "ur_PK uz_UZ vi_VN yi_US zh_CN zh_TW").split()
HARD = ("a A ſ ß ẞ İ ı Σ ς Ǆ ǅ ﬁ ﬃ Å Å é é ̈ ̧ ̀ ͏ ͅ ् ्‍ ‌ ​ ‎ ‏ \u202e \u2066 \ufeff \u00ad \u00a0 \u3000 \u2028 \u2029 \u0085 "
        "\x0b \x0c \x1c \x7f \x00 \t \r ' ` ^ $ # ## ~ _ - – … ¿ « ‹ 「 ، ؟ । ༄ ፡ ᙮ ‿ ⁀ ≠ ≮ ; · ॐ क़ ড় 한 각 ㄱ 가 漢 字 豈 "
        "ヴ が が ﾊﾞ 𝄞 𝅗𝅥 𝐀 😀 👩‍👩‍👧 🇩🇪 ☃ ⌘ א ב שׁ ع ﷺ [MASK] [SEP] [mask] [UNK [CLS]] [PAD] \ufffd \ufffe \U0010ffff "
        "\ue000 0 9 ٣ Ⅷ ½ ² ª × ¬ ¤ © £ 0x1F don't U.S.A. x=y+z http://a.b/c?d=e&f").split(" ")


def own_rules(c):
    """What becomes of a{c}b by the rules in words and Python's Unicode."""
    if c in "\0\ufffd" or (unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") and c not in "\t\n\r"):
        return ["ab"]
    if c in "\t\n\r\u2028\u2029" or unicodedata.category(c) == "Zs":
        return ["a", "b"]
    o = ord(c)
    cjk = any(lo <= o <= hi for lo, hi in ((0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xf900, 0xfaff), (0x20000, 0x2a6df),
                                           (0x2a700, 0x2b73f), (0x2b740, 0x2b81f), (0x2b920, 0x2ceaf), (0x2f800, 0x2fa1f)))
    words, end = ["a"], cjk
    for d in unicodedata.normalize("NFD", c) + "b":
        if unicodedata.category(d) == "Mn":
            continue
        d = d.lower()
        alone = unicodedata.category(d)[0] == "P" or (ord(d) < 128 and d.isprintable() and not d.isalnum() and d != " ")
        if end or alone or (cjk and d == "b"):
            words.append(d)
        else:
            words[-1] += d
        end = alone
    return words


def reference_words():
    normalise = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    split = pre_tokenizers.BertPreTokenizer()
    return lambda text: [w for w, _ in split.pre_tokenize_str(normalise.normalize_str(text))]


def characters():
    """Lines with each character of Unicode 3.2, of the large blocks every 16th; and all those characters."""
    words, lines, good, other = reference_words(), [], [], 0
    for o in range(0x110000):
        c = chr(o)
        if OLD.category(c) in ("Cn", "Cs") or c == "\n" or (OLD.category(c) == "Co" and o % 256):
            continue
        if (OLD.category(c) == "Lo" and (o >= 0x20000 or 0x3400 <= o < 0xa000 or 0xac00 <= o < 0xd7b0)) and o % 16:
            continue
        if words(f"a{c}b") != own_rules(c):
            other += 1
            continue
        good.append(c)
    for i in range(0, len(good), 16):
        lines.append(" ".join(f"a{c}b" for c in good[i:i + 16]))
    print(f"{len(good)} characters; {other} left out, which the reference knows by older tables of Unicode")
    return lines, good


def lines_of(paths, most, coding="utf-8"):
    out = []
    for p in paths:
        with open(p, encoding=coding, errors="replace") as f:
            out += f.read().split("\n")
        if sum(map(len, out)) > most:
            break
    return out


def random_lines(good, count, r):
    """Hard pieces and any characters, with and without blanks between."""
    return ["".join(r.choice(HARD) if r.random() < 0.7 else r.choice(good) + r.choice(("", " ", "e\u0301"))
                    for _ in range(r.randrange(1, 40))).replace("\n", " ") for _ in range(count)]


def make_text():
    r = random.Random(20)
    one_a_line, good = characters()
    licences = sorted(p for p in glob.glob("/usr/share/common-licenses/*") if not os.path.islink(p))
    lines = lines_of(licences, 10**9)
    copyright = sorted(glob.glob("/usr/share/doc/*/copyright"))
    lines += lines_of(copyright[::29], 700_000)
    for name in LOCALES:
        lines += [l for l in lines_of([f"/usr/share/i18n/locales/{name}"], 10**9) if any(ord(c) > 127 for c in l)][:150]
    lines += one_a_line + random_lines(good, 1200, r)
    lines += ["x" * n for n in (99, 100, 101, 5000)] + ["é" * 100, "é" * 101, "e\u0301" * 100, "\u1112\u1161\u11ab" * 34]
    data = "\n".join(lines).encode("utf-8")
    # invalid UTF-8: cut-off characters, surrogates, overlong forms, bytes that never occur
    for bad in (b"\xe2\x82", b"\xed\xa0\x80", b"\xc0\xaf", b"\xff", b"\xf4\x90\x80\x80", b"\x80", b"\xe2(\xa1", b"caf\xe9 au lait"):
        data += b"\na" + bad + b"b " + bad + b"\xc3\xa9" + bad
    return data + b"\n"


def main():
    os.makedirs(GOLDEN, exist_ok=True)
    text = make_text()
    lines = text.decode("utf-8", "replace").split("\n")[:-1]
    trainer = BertWordPieceTokenizer()
    trainer.train_from_iterator(lines, vocab_size=6000, limit_alphabet=2500, show_progress=False)
    tokens = sorted(trainer.get_vocab().items(), key=lambda item: item[1])
    vocab = "".join(t + "\n" for t, _ in tokens)
    reference = BertWordPieceTokenizer(vocab={t: i for t, i in tokens})
    ids = [i for line in lines for i in reference.encode(line).ids]
    unknown = reference.token_to_id("[UNK]")
    ids = ids[:len(ids) // 16 * 16]
    prints = [hashlib.sha256(b"".join(i.to_bytes(2, "little") for i in ids[k:k + 1024])).hexdigest()[:8]
              for k in range(0, len(ids), 1024)]
    for name, content in (("sample.txt.xz", text), ("vocab.txt.xz", vocab.encode())):
        with open(os.path.join(GOLDEN, name), "wb") as f:
            f.write(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    with open(os.path.join(GOLDEN, "tokens.json"), "w") as f:
        json.dump({"tokens": len(ids), "unknown": ids.count(unknown), "each": 1024, "sha256": prints}, f)
        f.write("\n")
    print(f"{len(text)} bytes, {len(lines)} lines, {len(tokens)} vocabulary, {len(ids)} tokens, {ids.count(unknown)} unknown")


main()
