"""What every figure of a comparison means: the words of ``npukit accuracy --explain-metrics`` and the report.

r is the reference's logit, c the candidate's, at one position for one token; sums run over all positions and
the whole vocabulary, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One figure. ``decides`` says whether a verdict is built on it."""

    name: str
    formula: str
    en: str
    zh: str
    decides: bool = False


METRICS: tuple[Metric, ...] = (
    Metric(
        "relative_l2",
        "√Σ(c−r)² / √Σr²",
        "the error's length over the reference's; set against the noise floor, and one half of the 1 % rule",
        "误差向量长度与参考向量长度之比；与噪声基线比较，也是 1% 准则的一半",
        decides=True,
    ),
    Metric(
        "relative_mean",
        "Σ|c−r| / Σ|r|",
        "mean absolute error over mean absolute reference; the other half of the 1 % rule",
        "平均绝对误差与参考平均绝对值之比；1% 准则的另一半",
    ),
    Metric(
        "cosine",
        "Σrc / (√Σr² √Σc²)",
        "of all positions flattened into one vector; blind to a common factor",
        "所有位置展平为一个向量后的余弦；对整体缩放不敏感",
    ),
    Metric(
        "last_cosine",
        "cosine of the last position",
        "the position that chooses the first new token; published for MiniMind2",
        "决定第一个新 token 的位置；MiniMind2 公布的指标",
    ),
    Metric(
        "last_relative_mean",
        "Σ|c−r| / Σ|r| of the last position",
        "the error rate published for MiniMind2, at the last position",
        "MiniMind2 公布的误差率（最后位置）",
    ),
    Metric("max_abs", "max |c−r|", "the largest single error, in logits", "最大单点绝对误差"),
    Metric("mean_abs", "Σ|c−r| / n", "the mean error, in logits", "平均绝对误差"),
    Metric(
        "max_relative",
        "max |c−r| / |r|",
        "element by element; explodes where r is near 0, so it never decides",
        "逐元素相对误差的最大值；参考接近 0 时会爆炸，因此从不用于判定",
    ),
    Metric(
        "mean_relative",
        "Σ(|c−r| / |r|) / n",
        "element by element; published for NanoWhale; never decides, for the same reason",
        "逐元素相对误差的平均值；NanoWhale 公布的指标；同理从不用于判定",
    ),
    Metric(
        "tolerance",
        "max |c−r| / (1+|r|)",
        "the t with which |c−r| ≤ t + t·|r| holds everywhere: the tolerance that would pass",
        "使 |c−r| ≤ t + t·|r| 处处成立的最小 t，即能够通过的容差",
    ),
    Metric(
        "kl",
        "Σ p_r (ln p_r − ln p_c) / positions",
        "Kullback-Leibler divergence of the next token's distribution, in nats, mean over positions",
        "下一 token 分布的 KL 散度（奈特），对位置取平均",
    ),
    Metric(
        "top1_agreement",
        "share of positions",
        "where both sides find the same token likeliest; positions with NaN or inf count as different",
        "两侧最可能 token 相同的位置占比；含 NaN 或 inf 的位置计为不同",
    ),
    Metric(
        "top5_agreement",
        "share of tokens",
        "of the reference's five likeliest that are among the candidate's five, mean over positions",
        "参考前五 token 落入候选前五的比例，对位置取平均",
    ),
    Metric(
        "perplexity_reference",
        "exp(−Σ ln p_r(next) / n)",
        "of the prompt's own tokens under the reference",
        "参考模型对提示自身 token 的困惑度",
    ),
    Metric(
        "perplexity_candidate",
        "exp(−Σ ln p_c(next) / n)",
        "of the prompt's own tokens under the candidate",
        "候选模型对提示自身 token 的困惑度",
    ),
)
