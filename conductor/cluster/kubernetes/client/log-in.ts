/**
 * The part of Kubernetes' own client that a login takes. Its entry module would bring 16 MB of generated code for
 * resources, which are asked for by path here.
 */
export { KubeConfig } from '@kubernetes/client-node/dist/config.js';
export { HttpMethod, RequestContext } from '@kubernetes/client-node/dist/gen/http/http.js';
