// Pins the CustomResourceDefinitions of the Prometheus operator (monitoring-crds.ts reads them from the module); no code is built from it.
module berth.dev/test/cluster/prometheus-operator

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
