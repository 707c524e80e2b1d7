#!/usr/bin/env python3
"""Writes hier_data.csv and hier_values.csv, which src/law/hier, the verdict and the block comparison are held against: the
same model with dense matrices (docs/adr/111), on three worked examples and on the scaling ladders of LADDERS, a CSV of
series, response, workers, run, time_s (published results of MLPerf Training, MLCommons, Apache-2.0).

    python3 -m venv V && V/bin/pip install numpy scipy && V/bin/python make_hier_golden.py LADDERS

  ln t(run r of configuration i) = a + s(N_i; shape) + u_i + e_ir
  a flat; u ~ N(0, tau^2 (I + LAM K)), K(i,j) = min(x_i, x_j), x = log2(N / smallest N); e ~ N(0, sigma^2)
"""
import csv
import math
import os
import sys

import numpy as np
from scipy.special import ndtr
from scipy import optimize, stats

PRIOR = dict(tau=.02, sig=.03,          # half-Cauchy scales of the configuration and run sd (of ln t)
             tmin=.001, tmax=1.5, nt=14, ns=7,
             b0=.9, bs=.2,              # exponent ~ normal(b0, bs) in power and powc
             a0=2., a2=1.,              # shares at the largest N: Dirichlet(a0 compute, 1/2 constant, a2 log or linear)
             lam=.5, m2=4,              # discrepancy per doubling; worker counts that a second shape parameter needs
             fam=dict(power=.3, amdahl=.3, powc=.1, amdlog=.1, amdlin=.2))

# ---------------------------------------------------------------- reduction: linear in rows, done once
def cells(N, runs):
    """N: worker count of each configuration; runs: its run means of ln t.  -> N, n_i, mean_i, within sum of squares"""
    n = np.array([len(v) for v in runs], float)
    y = np.array([np.mean(v) for v in runs])
    ss = np.array([np.sum((np.asarray(v, float)-np.mean(v))**2) for v in runs])
    return np.asarray(N, float), n, y, ss

# ---------------------------------------------------------------- curves: s(N; z), R = largest N, share = z^2 at N = R
def s_power(N, R, z): return -z[:, :1]*np.log(N/R)
def s_amdahl(N, R, z): p = z[:, :1]**2; return np.log((1-p)*R/N+p)
def s_powc(N, R, z): p = z[:, 1:2]**2; return np.log((1-p)*(R/N)**z[:, :1]+p)
def s_amdlog(N, R, z): p, q = z[:, :1]**2, z[:, 1:2]**2; return np.log((1-p-q)*R/N+p+q*np.log(N)/np.log(R))
def s_amdlin(N, R, z): p, q = z[:, :1]**2, z[:, 1:2]**2; return np.log((1-p-q)*R/N+p+q*N/R)
# power of energy: constant, slope, idle + busy
def s_pflat(N, R, z): return 0*z[:, :1]*np.log(N)
def s_pslope(N, R, z): return z[:, :1]*np.log(N/R)
def s_pidle(N, R, z):
    p = z[:, 1:2]**2; u = (1-p)*R/N/((1-p)*R/N+p)
    return np.log(z[:, :1]+(1-z[:, :1])*u)
FAM = dict(power=(s_power, [(-.5, 1.8)]), amdahl=(s_amdahl, [(0, 1)]), powc=(s_powc, [(.02, 1.8), (0, 1)]),
           amdlog=(s_amdlog, [(0, 1), (0, 1)]), amdlin=(s_amdlin, [(0, 1), (0, 1)]),
           pflat=(s_pflat, [(0, 1)]), pslope=(s_pslope, [(-.5, .5)]), pidle=(s_pidle, [(.05, 1), (0, 1)]))
DISC = ('amdlog', 'amdlin')

def lprior(f, z, P):
    """log density in z (proper: it makes weights of families comparable)"""
    a0, a2 = P['a0'], P['a2']; lg = math.lgamma
    def exponent(b): return -.5*((b-P['b0'])/P['bs'])**2-math.log(P['bs']*math.sqrt(2*math.pi))
    def share(t): return (a0-1)*np.log1p(-t*t)-(lg(.5)+lg(a0)-lg(.5+a0)-math.log(2))       # share ~ Beta(1/2, a0)
    if f == 'power': return exponent(z[:, 0])
    if f == 'powc': return exponent(z[:, 0])+share(z[:, 1])
    if f == 'amdahl': return share(z[:, 0])
    if f == 'pflat': return np.zeros(len(z))
    if f == 'pslope': return -.5*(z[:, 0]/.1)**2-math.log(.1*math.sqrt(2*math.pi))
    if f == 'pidle': return -math.log(.95)+share(z[:, 1])
    l3 = lg(a0)+lg(.5)+lg(a2)-lg(a0+.5+a2)
    return math.log(4)-l3+(2*a2-1)*np.log(z[:, 1])+(a0-1)*np.log1p(-z[:, 0]**2-z[:, 1]**2)

def grid(f, box, k):
    """midpoints of k cells per axis; log of the cell's volume"""
    ax = [lo+(np.arange(k)+.5)*(hi-lo)/k for lo, hi in box]
    Z = np.stack(np.meshgrid(*ax, indexing='ij'), -1).reshape(-1, len(box))
    if f in DISC: Z = Z[Z[:, 0]**2+Z[:, 1]**2 <= 1-1e-9]
    return Z, sum(math.log((hi-lo)/k) for lo, hi in box)

def shrink(Z, l, box, k, cut):
    """smallest box, one cell wider, round the nodes within cut of the best"""
    g = l.max(1); keep = Z[g > g.max()-cut]
    return [(max(b[0], keep[:, j].min()-(b[1]-b[0])/k), min(b[1], keep[:, j].max()+(b[1]-b[0])/k)) for j, b in enumerate(box)]

def lhc(s, scale):
    """half-Cauchy prior of s as a density of ln s, up to a constant"""
    return np.log(s)-np.log1p((s/scale)**2)-math.log(scale)

# ---------------------------------------------------------------- posterior
class Fit: pass
def quad(F, D):
    """D: nodes x configurations (data minus curve) -> residual form after a is integrated out, estimate of a"""
    e1 = D@F.u.T
    if F.lam: E = (D@F.Wr.T).reshape(len(D), len(F.TT), -1); Q = (E*E).sum(2)
    else: Q = (D*D)@F.u.T
    return Q-e1**2/F.oo, e1/F.oo

def fit(N, n, y, ss, P=PRIOR):
    F = Fit(); m = len(N); F.N, F.R, F.P, F.lam = N, N.max(), P, P['lam']
    F.x0 = math.log2(N.min()); x = np.log2(N)-F.x0
    dfw, SS = (n-1).sum(), ss.sum()
    # sigma: nodes where prior x within-run part is within 6 of its top; all runs enter through SS and dfw only
    ls = np.linspace(math.log(2e-4), math.log(3.), 400)
    lp = lhc(np.exp(ls), P['sig'])-dfw*ls-.5*SS*np.exp(-2*ls); k = lp > lp.max()-6
    sg = np.exp(np.linspace(ls[k][0], ls[k][-1], P['ns'])); lps = lhc(sg, P['sig'])-dfw*np.log(sg)-.5*SS/sg**2
    tg = np.exp(np.linspace(math.log(P['tmin']), math.log(P['tmax']), P['nt'])); lpt = lhc(tg, P['tau'])
    TT, SG = [a.ravel() for a in np.meshgrid(tg, sg, indexing='ij')]
    base = (lpt[:, None]+lps[None, :]).ravel(); k = base > base.max()-14
    TT, SG, base = TT[k], SG[k], base[k]; q = len(TT)
    V = np.zeros((q, m, m)); V[:, range(m), range(m)] = TT[:, None]**2+SG[:, None]**2/n
    if F.lam: V += (F.lam*TT**2)[:, None, None]*np.minimum(x[:, None], x[None, :])
    L = np.linalg.cholesky(V); W = np.linalg.inv(L); o = W.sum(2); oo = (o*o).sum(1)
    base = base-np.log(np.einsum('qii->qi', L)).sum(1)-.5*np.log(oo)
    def use(k):
        F.TT, F.SG, F.W, F.o, F.oo, F.base = TT[k], SG[k], W[k], o[k], oo[k], base[k]
        F.u = np.einsum('qi,qij->qj', F.o, F.W); F.Wr = F.W.reshape(-1, m)                  # u = V^-1 1
    def ev(f, Z, lc):
        D = y-FAM[f][0](N, F.R, Z)
        return lprior(f, Z, P)[:, None]+lc+F.base-.5*quad(F, D)[0], D
    use(np.arange(q)); first = {}; comps = []
    fam = {f: p for f, p in P['fam'].items() if p > 0 and not (len(FAM[f][1]) == 2 and m < P['m2'])}
    with np.errstate(all='ignore'):
        top = np.full(q, -np.inf)
        for f in fam:                                     # pass 1: whole range, 48 or 20 x 20 cells
            k = (48, 20)[len(FAM[f][1])-1]; Z, lc = grid(f, FAM[f][1], k); l, D = ev(f, Z, lc)
            first[f] = shrink(Z, l, FAM[f][1], k, 20); top = np.maximum(top, l.max(0))
        use(np.nonzero(top > top.max()-12)[0])            # (tau, sigma) nodes that matter
        for f, pf in fam.items():                         # passes 2, 3: the box shrinks to the posterior
            d = len(first[f])-1; k = (32, 16)[d]
            Z, lc = grid(f, first[f], k); l, D = ev(f, Z, lc); box = shrink(Z, l, first[f], k, 12)
            Z, lc = grid(f, box, (40, 24)[d]); l, D = ev(f, Z, lc); comps.append((f, Z, l+math.log(pf), D))
    mx = max(c[2].max() for c in comps); tot = sum(np.exp(c[2]-mx).sum() for c in comps)
    F.c = [(f, Z, np.exp(l-mx)/tot, D) for f, Z, l, D in comps]
    F.w = {f: float(w.sum()) for f, Z, w, D in F.c}
    return F

# ---------------------------------------------------------------- prediction
def raw(F, at):
    """components of ln response at worker count at: weight, mean, variance of curve, tau^2, sigma^2"""
    A = np.array([float(at)]); x = np.log2(F.N)-F.x0; xa = math.log2(at)-F.x0; out = []
    if F.lam:
        kv = F.lam*F.TT[:, None]**2*np.minimum(x, xa)[None, :]; Wk = np.einsum('qij,qj->qi', F.W, kv)
        ok = (F.o*Wk).sum(1); kw = np.einsum('qi,qij->qj', Wk, F.W)
    for f, Z, w, D in F.c:
        g = w.sum(1) > 1e-7; D, Z, w = D[g], Z[g], w[g]
        if not len(Z): continue
        ah = (D@F.u.T)/F.oo; mu = FAM[f][0](A, F.R, Z)[:, :1]+ah; v = np.broadcast_to(1/F.oo, mu.shape)
        if F.lam: mu = mu+D@kw.T-ah*ok; v = v+F.lam*F.TT**2*xa-(Wk*Wk).sum(1)+((1-ok)**2-1)/F.oo
        k = w > 1e-7*w.max(); b = lambda a: np.broadcast_to(a, mu.shape)[k]
        out.append((w[k], mu[k], v[k], b(F.TT**2), b(F.SG**2)))
    w, m, v, t, s = map(np.concatenate, zip(*out)); return w/w.sum(), m, v, t, s
def collapse(w, m, s):
    """merge components of like mean and sd; mean and variance of each cell are kept"""
    k = w > 1e-9; w, m, s = w[k], m[k], s[k]
    i = np.floor(np.log(s)/math.log(1.2)).astype(int); i -= i.min(); h = .3*1.2**i*s.min()
    j = np.floor((m-m.min())/h).astype(int); u, c = np.unique(i*(j.max()+1)+j, return_inverse=True)
    W = np.bincount(c, w); M = np.bincount(c, w*m)/W; V = np.bincount(c, w*(s*s+(m-M[c])**2))/W
    return W/W.sum(), M, np.sqrt(V)
def mixture(F, at, what='run'):
    """what: curve | config (mean of a new configuration) | run (one new run of it)"""
    w, m, v, t, s = raw(F, at)
    return collapse(w, m, np.sqrt(v+t*(what != 'curve')+s*(what == 'run')))
def quantile(mx, p):
    w, m, s = mx; lo, hi = (m-9*s).min(), (m+9*s).max()
    for _ in range(60):
        h = .5*(lo+hi)
        if np.dot(w, ndtr((h-m)/s)) < p: lo = h
        else: hi = h
    return .5*(lo+hi)
def interval(mx): return [math.exp(quantile(mx, p)) for p in (.5, .025, .975)]

# ---------------------------------------------------------------- verdict, compare, energy
def verdict(N, ybar, margin=.05):
    """configuration means -> change of the local exponent per factor of 10, its se, smallest margin that would hold, verdict"""
    x = np.log(N); m = len(x); xc = x-x.mean(); X = np.c_[np.ones(m), xc, xc*xc]
    if m < 4: return None, None, None, 'UNDECIDED'
    b = np.linalg.lstsq(X, ybar, rcond=None)[0]; s2 = ((ybar-X@b)**2).sum()/(m-3)
    d = 2*b[2]*math.log(10); se = 2*math.log(10)*math.sqrt(s2*np.linalg.inv(X.T@X)[2, 2])
    c = np.linalg.lstsq(X[:, :2], ybar, rcond=None)[0]; s1 = ((ybar-X[:, :2]@c)**2).sum()/(m-2)
    blo = -c[1]-stats.t.ppf(.975, m-2)*math.sqrt(s1/(xc*xc).sum()); need = abs(d)+stats.t.ppf(.95, m-3)*se
    if need < margin and blo > .05: v = 'SUPPORTED'
    elif abs(d)-stats.t.ppf(.975, m-3)*se > 0 and abs(d) > margin: v = 'REJECTED'
    else: v = 'UNDECIDED'
    return d, se, need, v
def compare(Y, N):
    """Y: levels x worker counts, configuration means of ln t -> F, p of parallelism, slopes, s2, df"""
    k, m = Y.shape; I = Y-Y.mean(1, keepdims=True)-Y.mean(0, keepdims=True)+Y.mean()
    x = np.log(N); xc = x-x.mean(); Sx = (xc**2).sum(); g = I@xc/Sx
    ssg = Sx*(g**2).sum(); d1, d2 = k-1, (k-1)*(m-2); s2 = ((I**2).sum()-ssg)/d2; f = ssg/d1/s2
    return f, float(stats.f.sf(f, d1, d2)), g, s2, d2
def scaled_work(Y, N):
    """the same along the share of work of Amdahl's law through the means of worker counts -> share of overhead at the
    largest, F, p"""
    k, m = Y.shape; I = Y-Y.mean(1, keepdims=True)-Y.mean(0, keepdims=True)+Y.mean()
    def work(p): return (1-p)*N.max()/N
    def off(p): d = Y.mean(0)-np.log(work(p)+p); return ((d-d.mean())**2).sum()
    p = optimize.minimize_scalar(lambda z: off(z*z), bounds=(0, 1), method='bounded', options=dict(xatol=1e-13)).x**2
    u = work(p)/(work(p)+p); uc = u-u.mean(); Su = (uc**2).sum(); g = I@uc/Su
    ssg = Su*(g**2).sum(); d1, d2 = k-1, (k-1)*(m-2); s2 = ((I**2).sum()-ssg)/d2; f = ssg/d1/s2
    return p, f, float(stats.f.sf(f, d1, d2))
def energy(N, T, Pw, at, what='run'):
    """T, Pw: per configuration the run means of ln t and ln P, same runs -> mixture of ln E, E = N P t; correlation"""
    ct, cp = cells(N, T), cells(N, Pw)
    Ft = fit(*ct); Fp = fit(*cp, P=dict(PRIOR, tau=.01, fam=dict(pflat=.34, pslope=.33, pidle=.33)))
    def res(F, c, Y):
        mu = sum(w.sum(1)@FAM[f][0](F.N, F.R, Z) for f, Z, w, D in F.c); b = c[2]-mu; return b-b.mean(), [v-np.mean(v) for v in Y]
    bt, wt = res(Ft, ct, T); bp, wp = res(Fp, cp, Pw); n = ct[1]
    C = lambda a, b, u, v: (n*a*b).sum()+sum((p*q).sum() for p, q in zip(u, v))
    df = (n-1).sum()+max(1, len(N)-3); den = math.sqrt(C(bt, bt, wt, wt)*C(bp, bp, wp, wp))
    rho = C(bt, bp, wt, wp)/den*df/(df+4) if den > 0 else 0.
    a, b = mixture(Ft, at, what), mixture(Fp, at, what)
    v = np.add.outer(a[2]**2, b[2]**2)+2*rho*np.outer(a[2], b[2])
    return collapse(np.outer(a[0], b[0]).ravel(), (np.add.outer(a[1], b[1])+math.log(at)).ravel(), np.sqrt(v.ravel())), rho


# ---------------------------------------------------------------- golden values
HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = dict(power='power', amdahl='amdahl', powc='power_const', amdlog='amdahl_log', amdlin='amdahl_linear')
WHAT = ('curve', 'config', 'run')
EX = [('A', [1, 2, 4, 8, 16, 32, 64], [[1008., 1014.], [512., 505.], [261., 258.], [134., 136.], [72.1, 73.], [41.6, 41.], [25.5, 26.]]),
      ('B', [4, 8, 16], [[107.9], [59.8], [29.4]]),
      ('C', [8, 16], [[300., 303.], [160., 158.]])]


def exact(F, at, what):
    """The mixture without merging."""
    w, m, v, t, s = raw(F, at)
    return w, m, np.sqrt(v + t * (what != 'curve') + s * (what == 'run'))


def values(name, N, T, ats):
    c = cells(N, [np.log(v) for v in T])
    F = fit(*c)
    for f, w in F.w.items():
        yield name, 'weight ' + NAMES[f], '', w
    for at in ats:
        for what in WHAT:
            for how, mx in (('exact', exact(F, at, what)), ('merged', mixture(F, at, what))):
                for p, end in ((.5, 'median'), (.025, 'lo'), (.975, 'hi')):
                    yield name, '%s %s %s' % (how, what, end), '%g' % at, quantile(mx, p)
    d, se, need, v = verdict(c[0], c[2])
    if d is not None:
        for k, x in (('verdict change', d), ('verdict se', se), ('verdict smallest margin', need)):
            yield name, k, '', x


def ladders(path):
    """Every split of a series that trains on two or more worker counts and predicts the next, up to 4 times."""
    S = {}
    for r in csv.DictReader(open(path)):
        S.setdefault(r['series'] + '|' + r['response'], {}).setdefault(float(r['workers']), []).append(float(r['time_s']))
    for k in sorted(S):
        p = sorted(S[k].items())
        for m in range(2, len(p)):
            if p[m][0] / p[m - 1][0] <= 4:
                yield '%s|%d' % (k, m), [a for a, _ in p[:m]], [v for _, v in p[:m]], [p[m][0]]


def compare_example():
    N = np.array([1, 2, 4, 8, 16, 32.])
    Y = np.log(np.array([1.8 / N + .01, 1.3 / N + .01, 1 / N + .01]))
    Y = Y + .01 * np.array([[1, -1, 1, -1, 1, -1], [-1, 1, 1, -1, -1, 1], [1, 1, -1, -1, 1, 1.]])
    f, p, g, s2, df = compare(Y, N)
    for k, x in [('F', f), ('p', p), ('s2', s2), ('df', df)] + [('slope %d' % i, x) for i, x in enumerate(g)]:
        yield 'compare', k, '', x
    for k, x in zip(('work overhead', 'work F', 'work p'), scaled_work(Y, N)):
        yield 'compare', k, '', x


def energy_example():
    N, T = EX[0][1], [np.log(v) for v in EX[0][2]]
    mx, rho = energy(N, T, [np.log([300 - 5 * i, 298 - 5 * i]) for i in range(7)], 128)
    yield 'energy', 'rho', '', rho
    for p, end in ((.5, 'median'), (.025, 'lo'), (.975, 'hi')):
        yield 'energy', 'merged run ' + end, '128', quantile(mx, p)


def main():
    cases = [(n, N, T, [3, 2 * N[-1], 4 * N[-1]]) for n, N, T in EX] + list(ladders(sys.argv[1]))
    with open(os.path.join(HERE, 'hier_data.csv'), 'w', newline='') as f:
        w = csv.writer(f, lineterminator='\n')
        w.writerow(['case', 'workers', 'time_s'])
        for name, N, T, _ in cases:
            for n, v in zip(N, T):
                w.writerows([name, '%g' % n, repr(t)] for t in v)
    with open(os.path.join(HERE, 'hier_values.csv'), 'w', newline='') as f:
        w = csv.writer(f, lineterminator='\n')
        w.writerow(['case', 'quantity', 'at', 'value'])
        for case in cases:
            w.writerows([a, b, c, '%.10g' % x] for a, b, c, x in values(*case))
        for a, b, c, x in list(compare_example()) + list(energy_example()):
            w.writerow([a, b, c, '%.10g' % x])


if __name__ == '__main__':
    main()
