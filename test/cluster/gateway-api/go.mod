// Pins the CustomResourceDefinitions of the Gateway API (gateway-crds.ts reads them from the module); no code is built from it.
module berth.dev/test/cluster/gateway-api

go 1.26.0

require sigs.k8s.io/gateway-api v1.6.3
