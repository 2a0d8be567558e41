import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AccessControl, nameRight, type ReviewedRight } from '#test/simulators/kubernetes/access.ts';
import { type DeleteOptions, deleteObject, storeChange } from '#test/simulators/kubernetes/deletion.ts';
import { discover } from '#test/simulators/kubernetes/discovery.ts';
import { type Eviction, evict } from '#test/simulators/kubernetes/eviction.ts';
import { patched } from '#test/simulators/kubernetes/patches.ts';
import { badRequest, Refusal } from '#test/simulators/kubernetes/refusal.ts';
import {
  apiVersionOf,
  type Draft,
  type Resource,
  resourceTypes,
  typeOf,
} from '#test/simulators/kubernetes/resource.ts';
import { fieldSelector, labelSelector, type Selector } from '#test/simulators/kubernetes/selectors.ts';
import type { Store } from '#test/simulators/kubernetes/store.ts';
import { tableOf } from '#test/simulators/kubernetes/tables.ts';
import { streamWatch } from '#test/simulators/kubernetes/watches.ts';

export interface ApiRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

interface Target {
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

interface ServiceOptions {
  readonly store: Store;
  readonly access: Pick<AccessControl, 'allows'>;
  /** The newest eviction that the cluster knows. */
  readonly eviction: 'v1' | 'v1beta1';
  readonly bookmarkMs: number;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** @returns the answer, or `undefined` when it has taken the response for itself: a watch. @throws Refusal */
export type Service = (request: ApiRequest, response: ServerResponse) => ApiAnswer | undefined;

export function createService({ store, access, eviction, bookmarkMs }: ServiceOptions): Service {
  return (request, response) => {
    const { method, url } = request;
    const found = method === 'GET' ? discover(url.pathname, eviction) : undefined;
    if (found) return { status: 200, body: found };
    if (url.pathname === '/readyz') return { status: 200, body: 'ok' };
    if (url.pathname === accessReviews && method === 'POST') return reviewAccess(access, request);
    const target = targetOf(url.pathname);
    // as text where no API has the path, as a Status that names nothing where an API lacks the resource
    if (!target && !hasApi(url.pathname)) return { status: 404, body: '404 page not found\n' };
    if (!target) throw new Refusal(404, 'NotFound', 'the server could not find the requested resource');
    const { plural, namespace, name, subresource } = target;
    if (subresource === 'eviction' && method === 'POST') {
      evict(store, store.get(plural, name ?? '', namespace), json(request) as Eviction, eviction);
      return { status: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } };
    }
    if (subresource !== undefined && subresource !== 'status') throw notAllowed(method);
    if (name === undefined) return handleCollection({ store, bookmarkMs }, request, response, target);
    return handleObject(store, request, { plural, namespace, name });
  };
}

const accessReviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

function reviewAccess({ allows }: Pick<AccessControl, 'allows'>, request: ApiRequest): ApiAnswer {
  const review = json(request) as { readonly spec: { readonly resourceAttributes: ReviewedRight } };
  const { resourceAttributes: asked } = review.spec;
  return { status: 201, body: { ...review, status: { allowed: allows(nameRight(asked), asked.namespace ?? '') } } };
}

function handleCollection(
  { store, bookmarkMs }: Pick<ServiceOptions, 'store' | 'bookmarkMs'>,
  request: ApiRequest,
  response: ServerResponse,
  { plural, namespace }: Target,
): ApiAnswer | undefined {
  const query = request.url.searchParams;
  if (request.method === 'POST') {
    const draft = json(request) as Draft;
    const metadata = { ...draft.metadata, ...(namespace === undefined ? {} : { namespace }) };
    return { status: 201, body: store.create(plural, { ...draft, metadata }) };
  }
  if (request.method !== 'GET') throw notAllowed(request.method);
  const selects = selectorOf(query);
  if (['true', '1'].includes(query.get('watch') ?? '')) {
    const timeout = Number(query.get('timeoutSeconds') ?? 0);
    const watch = {
      plural,
      namespace,
      selects,
      resourceVersion: query.get('resourceVersion') ?? '',
      bookmarks: query.get('allowWatchBookmarks') === 'true',
      asTable: wantsTable(request),
      timeoutSeconds: timeout > 0 ? timeout : undefined,
    };
    streamWatch(store, watch, response, bookmarkMs);
    return undefined;
  }
  return { status: 200, body: listAnswer(store, request, { plural, namespace, selects }) };
}

function listAnswer(
  store: Store,
  request: ApiRequest,
  {
    plural,
    namespace,
    selects,
  }: { readonly plural: string; readonly namespace: string | undefined; readonly selects: Selector },
): unknown {
  const query = request.url.searchParams;
  const all = store.list(plural, namespace).filter(selects);
  const start = Number(query.get('continue') ?? 0);
  const limit = Number(query.get('limit') ?? 0) || all.length;
  const page = all.slice(start, start + limit);
  const resourceVersion = String(store.version());
  if (wantsTable(request)) return tableOf(plural, page, resourceVersion);
  const more = start + limit < all.length ? { continue: String(start + limit) } : {};
  const type = typeOf(plural);
  return {
    kind: `${type.kind}List`,
    apiVersion: apiVersionOf(type),
    metadata: { resourceVersion, ...more },
    items: page,
  };
}

function handleObject(
  store: Store,
  request: ApiRequest,
  {
    plural,
    namespace,
    name,
  }: { readonly plural: string; readonly namespace: string | undefined; readonly name: string },
): ApiAnswer {
  const object = store.get(plural, name, namespace);
  switch (request.method) {
    case 'GET': {
      const body = wantsTable(request) ? tableOf(plural, [object], object.metadata.resourceVersion) : object;
      return { status: 200, body };
    }
    case 'PATCH': {
      const draft = patched(object, request.headers['content-type'] ?? '', json(request));
      return { status: 200, body: storeChange(store, plural, samePlace(draft, object)) };
    }
    case 'PUT':
      return { status: 200, body: storeChange(store, plural, samePlace(json(request) as Draft, object)) };
    case 'DELETE': {
      const options = request.body === '' ? {} : (json(request) as DeleteOptions);
      return { status: 200, body: deleteObject(store, plural, object, options) };
    }
    default:
      throw notAllowed(request.method);
  }
}

function samePlace(draft: Draft, { metadata }: Resource): Draft {
  if (draft.metadata.name !== metadata.name)
    throw badRequest('the name of the object does not match the name on the URL');
  return draft;
}

function selectorOf(query: URLSearchParams): Selector {
  const byLabel = labelSelector(query.get('labelSelector') ?? '');
  const byField = fieldSelector(query.get('fieldSelector') ?? '');
  return (object) => byLabel(object) && byField(object);
}

/** `/api/v1/namespaces/NS/pods/NAME/eviction`, `/apis/apps/v1/daemonsets`. */
function targetOf(path: string): Target | undefined {
  const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(.+)$/.exec(path);
  const [, group = '', version, rest = ''] = match ?? [];
  const parts = rest.split('/').map((part) => decodeURIComponent(part));
  const isInNamespace = parts[0] === 'namespaces' && parts.length > 2;
  const [plural = '', name, subresource] = isInNamespace ? parts.slice(2) : parts;
  const isKnown = resourceTypes.some(
    (type) => type.plural === plural && type.group === group && (type.version === version || group === 'policy'),
  );
  return isKnown ? { plural, namespace: isInNamespace ? parts[1] : undefined, name, subresource } : undefined;
}

function hasApi(path: string): boolean {
  return path.startsWith('/api/v1/') || resourceTypes.some(({ group }) => path.startsWith(`/apis/${group}/`));
}

function wantsTable({ headers }: ApiRequest): boolean {
  return headers.accept?.includes('as=Table') === true;
}

function json({ body }: ApiRequest): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw badRequest('the object provided is unrecognized (must be of type JSON)');
  }
}

function notAllowed(method: string): Refusal {
  return new Refusal(
    405,
    'MethodNotAllowed',
    `the server does not allow this method on the requested resource: ${method}`,
  );
}
