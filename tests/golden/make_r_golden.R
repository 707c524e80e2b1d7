# Writes r_values.csv: the same data as the other golden files through R, a second opinion beside statsmodels and scipy.
#   R -e 'install.packages(c("sandwich", "clubSandwich", "segmented", "lmtest"))'; Rscript make_r_golden.R
# Made with R 4.2, clubSandwich 0.5, segmented 1.6, sandwich 3.0, lmtest 0.9.
suppressMessages({library(sandwich); library(clubSandwich); library(segmented); library(lmtest)})
arguments <- commandArgs(FALSE)
folder <- dirname(normalizePath(sub("--file=", "", grep("--file=", arguments, value = TRUE))))
at <- function(name) file.path(folder, name)
out <- list()
add <- function(name, value) out[[length(out) + 1]] <<- data.frame(quantity = name, value = sprintf("%.17g", value))

# Errors of the slope under unequal scatter and dependence within worker counts.
robust <- read.csv(at("robust_data.csv"))
line <- lm(y ~ x, robust)
for (kind in c("HC0", "HC1", "HC2", "HC3"))
  for (j in 1:2) add(sprintf("%s_se%d", tolower(kind), j - 1), sqrt(vcovHC(line, type = kind)[j, j]))
clustered <- vcovCL(line, cluster = robust$cluster, type = "HC1")
corrected <- coef_test(line, vcov = "CR2", cluster = robust$cluster, test = "Satterthwaite")
for (j in 1:2) {
  add(sprintf("cr1_se%d", j - 1), sqrt(clustered[j, j]))
  add(sprintf("cr2_se%d", j - 1), corrected$SE[j])
  add(sprintf("cr2_df%d", j - 1), if (is.null(corrected$df_Satt)) corrected$df[j] else corrected$df_Satt[j])
}
add("breusch_pagan", unname(bptest(line)$statistic))
add("breusch_pagan p", unname(bptest(line)$p.value))
add("reset", unname(resettest(line, power = 2:3, type = "fitted")$statistic))
add("reset p", unname(resettest(line, power = 2:3, type = "fitted")$p.value))
add("student 4", rstudent(line)[5])
add("cook 4", cooks.distance(line)[5])

samples <- read.csv(at("samples.csv"))
for (name in c("three", "five", "nine", "twenty", "hundred")) {
  test <- shapiro.test(samples$value[samples$sample == name])
  add(paste("shapiro", name, "w"), unname(test$statistic))
  add(paste("shapiro", name, "p"), test$p.value)
}

# The line that bends, and curves of time against workers through a noisy Amdahl campaign.
bent <- read.csv(at("broken_data.csv"))
broken <- segmented(lm(y ~ x, bent), seg.Z = ~x, psi = 2, control = seg.control(tol = 1e-12, it.max = 200, n.boot = 0))
add("segmented at", broken$psi[1, "Est."])
add("segmented slope1", coef(broken)[["x"]])
add("segmented slope2", coef(broken)[["x"]] + coef(broken)[["U1.x"]])
curves <- read.csv(at("curve_data.csv"))
fits <- list(
  amdahl = list(log(t) ~ log(W / workers + c), list(W = 100, c = 5)),
  power_const = list(log(t) ~ log(a * workers^-b + c), list(a = 100, b = 0.95, c = 4)),
  amdahl_log = list(log(t) ~ log(W / workers + c + g * log2(workers)), list(W = 100, c = 3, g = 0.6)),
  amdahl_linear = list(log(t) ~ log(W / workers + c + g * workers), list(W = 100, c = 4, g = 0.04)))
for (name in names(fits)) {
  fit <- nls(fits[[name]][[1]], curves, fits[[name]][[2]], algorithm = "port", lower = 1e-9,
             control = nls.control(maxiter = 500))
  for (p in names(coef(fit))) {
    add(paste(name, p), coef(fit)[[p]])
    add(paste(name, p, "se"), summary(fit)$coefficients[p, "Std. Error"])
  }
  add(paste(name, "sse"), deviance(fit))
}
write.csv(do.call(rbind, out), at("r_values.csv"), row.names = FALSE, quote = FALSE)
