import { z } from 'zod';
import { Fault } from '#conductor/api/service.ts';
import { accessRules } from '#conductor/auth/access-rules.ts';
import type { ApiApp } from '#conductor/http/routing/define-routes.ts';
import { isAirshipPath } from '#conductor/http/routing/error-answers.ts';
import { maximumMinor, minimumMinor } from '#conductor/http/routing/versions.ts';

/**
 * Returns the name of an operation, which generated clients use as their method's: `listNodes`, `showNode`, `updateNode`. It
 * follows from method and path alone, and so stays as long as they do.
 */
function operationId(method: string, path: string): string {
  const known = irregular[`${method} ${path}`];
  if (known !== undefined) return known;
  const isBare = path.startsWith('/v1/nodes/{node_id}/') || path.startsWith('/etcd');
  const teardown = teardownIds[/\/nodes\/\{node_id\}\/(.+)$/.exec(path)?.[1] ?? ''];
  if (teardown !== undefined) return isBare ? `${teardown}Bare` : teardown;
  const parts = path.split('/').filter((part) => part !== '' && !/^(v1|api|v1\.0)$/.test(part));
  const last = parts.at(-1) ?? '';
  const words = parts.flatMap((part, index) => {
    if (part.startsWith('{')) return [];
    const belongsToOne = parts[index + 1]?.startsWith('{') === true;
    return [pascal(belongsToOne || (method === 'post' && index === parts.length - 1) ? singular(part) : part)];
  });
  return `${verbOf(method, last !== 'detail' && !isPlural(last))}${words.join('')}${isBare ? 'Bare' : ''}`;
}

/** Operations whose paths do not say what they do. */
const irregular: Readonly<Record<string, string>> = {
  'get /': 'showRoot',
  'get /v1': 'showVersion',
  'get /metrics': 'showMetrics',
  'get /board/{file}': 'showBoardFile',
  'get /docs': 'showDocs',
  'get /docs/{file}': 'showDocsFile',
  'get /versions': 'listVersions',
  'get /v1/images/{image}': 'showStoredImage',
  'post /v1/images/prune': 'pruneImages',
  'get /v1/nodes/{node}/history': 'listNodeHistory',
  'get /v1/nodes/{node}/history/{entry}': 'showNodeHistoryEntry',
  'get /v1/nodes/{node}/states': 'showNodeStates',
  'put /v1/nodes/{node}/states/provision': 'setNodeProvisionState',
  'put /v1/nodes/{node}/states/power': 'setNodePowerState',
  'put /v1/nodes/{node}/states/raid': 'setNodeRaidConfig',
  'put /v1/nodes/{node}/states/boot_mode': 'setNodeBootMode',
  'put /v1/nodes/{node}/states/secure_boot': 'setNodeSecureBoot',
  'get /v1/nodes/{node}/states/console': 'showNodeConsole',
  'put /v1/nodes/{node}/management/inject_nmi': 'injectNodeNmi',
  'get /v1/nodes/validate': 'validateNodeByName',
  'get /v1/nodes/{node}/validate': 'validateNode',
  'post /v1/nodes/{node}/plan': 'planNode',
  'post /v1/nodes/{node}/flow/retry': 'retryNodeFlow',
  'post /v1/nodes/{node}/flow/skip': 'skipNodeFlowStep',
  'post /v1/nodes/{node}/flow/release_power': 'releaseNodePower',
  'post /v1/nodes/{node}/network/repair': 'repairNodeNetwork',
  'post /v1/nodes/{node}/vifs': 'attachNodeVif',
  'delete /v1/nodes/{node}/vifs/{vif}': 'detachNodeVif',
  'get /v1/lookup': 'lookupAgent',
  'post /v1/heartbeat/{node}': 'heartbeat',
  'post /v1/progress/{node}': 'reportProgress',
  'post /v1/neighbours/{node}': 'findNeighbours',
  'post /v1/continue_inspection': 'continueInspection',
  'post /v1/webhooks/{webhook}/test': 'testWebhook',
  'post /api/v1.0/actions/{action}/control/{verb}': 'controlAction',
  'get /api/v1.0/notedetails/{note}': 'showNoteDetails',
  'post /api/v1.0/configdocs/{collection}': 'uploadConfigdocs',
  'get /api/v1.0/configdocs/{collection}': 'showConfigdocs',
  'post /api/v1.0/commitconfigdocs': 'commitConfigdocs',
  'get /api/v1.0/revisions/{revision}/diff/{other}': 'diffRevisions',
  'get /api/v1.0/revisions/{revision}/deepdiff/{other}': 'diffRevisionDocuments',
  'post /api/v1.0/rollback/{revision}': 'rollBackRevision',
  'post /api/v1.0/revisions/{revision}/tags/{tag}': 'setRevisionTag',
  'get /api/v1.0/plugins/{name}/{version}': 'showPlugin',
  'delete /api/v1.0/plugins/{name}/{version}': 'deletePlugin',
  'get /api/v1.0/plugins/order': 'showPluginOrder',
  'post /api/v1.0/nodefilter': 'filterNodes',
  'post /api/v1.0/receipt-keys': 'rotateReceiptKey',
};

/** Ids of operations that are served below `/api/v1.0` and, as Promenade has it, without: the latter is `…Bare`. */
const teardownIds: Readonly<Record<string, string>> = {
  drain: 'drainNode',
  'clear-labels': 'clearNodeLabels',
  'restore-labels': 'restoreNodeLabels',
  'shutdown-kubelet': 'shutDownNodeKubelet',
  'remove-from-cluster': 'removeNodeFromCluster',
  'remove-etcd': 'removeNodeEtcd',
  decommission: 'decommissionNode',
};

const verbs: Readonly<Record<string, string>> = { post: 'create', put: 'set', patch: 'update', delete: 'delete' };

function verbOf(method: string, isOne: boolean): string {
  return verbs[method] ?? (isOne ? 'show' : 'list');
}

function isPlural(part: string): boolean {
  if (part.startsWith('{')) return false;
  return part.endsWith('s') && !/(chassis|bios|status)$/.test(part) ? true : /^(chassis|bios)$/.test(part);
}

function singular(part: string): string {
  return /(chassis|bios|status)$/.test(part)
    ? part
    : part
        .replace(/ies$/, 'y')
        .replace(/statuses$/, 'status')
        .replace(/s$/, '');
}

function pascal(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

type Json = Record<string, unknown>;
type Document = ReturnType<ApiApp['getOpenAPI31Document']>;
const reference = (name: 'Fault' | 'Status') => ({ $ref: `#/components/schemas/${name}` });

const description = `OpenStack Ironic's REST API as Baton serves it, and Baton's own additions to it; below /api/v1.0 that
of Airship, for whole sites.

Name a microversion in \`X-OpenStack-Ironic-API-Version\`: without it the version is 1.${minimumMinor}, in which much of
this is not there. What is newer than the version in use is left out of answers, refused in requests (406), or not
found (404). Paths work without \`/v1\` and with a slash at the end, too. docs/api.md says what of
Ironic's API is not supported, and what to do instead. Filter by "own" for what only Baton has.`;

const versionHeader = {
  name: 'X-OpenStack-Ironic-API-Version',
  in: 'header',
  required: false,
  description: `1.${minimumMinor} to 1.${maximumMinor}, or latest`,
  schema: { type: 'string', default: `1.${minimumMinor}` },
  // what the page of the document fills in
  example: `1.${maximumMinor}`,
};

const securitySchemes = {
  basic: { type: 'http', scheme: 'basic', description: 'A user of the htpasswd file (BATON_AUTH).' },
  bearer: { type: 'http', scheme: 'bearer', description: 'A token of POST /v1/tokens (BATON_AUTH).' },
};

/** Operations that are not JSON API: what machines fetch while they boot, and what watches a conductor. */
const plainOperations: Readonly<Record<string, string>> = {
  '/openapi.json': 'This document',
  '/board': 'The fleet as a page for people',
  '/board/{file}': 'What the board is made of',
  '/docs': 'This document as a page for people',
  '/docs/{file}': 'What the page is made of',
  '/healthz': 'Say that the process runs',
  '/readyz': 'Say whether it can serve',
  '/metrics': 'Show metrics for Prometheus',
  '/boot/boot.ipxe': 'The first iPXE script of every machine',
  '/boot/node.ipxe': 'The iPXE script of one machine',
  '/boot/secrets.img': "The boot's token as an initrd, once in a boot",
  '/boot/vmlinuz': "The ramdisk's kernel",
  '/boot/initrd.img': 'The ramdisk',
  '/boot/snponly.efi': 'iPXE for UEFI firmware with a network driver',
  '/boot/ipxe-arm64.efi': 'iPXE for UEFI firmware of arm64',
  '/boot/undionly.kpxe': 'iPXE for BIOS firmware',
  '/boot/ipxe.efi': 'iPXE for UEFI firmware',
  '/media/{node}/{file}': 'The CD from which one machine boots the ramdisk by virtual media',
  '/images/{path}': 'An image, or whatever else lies in the directory of images',
};

/**
 * Describes the OpenAPI 3.1 document of the app: paths, input and answers as the routes declare them, who needs no login as
 * the access rules have it.
 */
export function describeApi(app: ApiApp): Json {
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: "Baton: OpenStack Ironic's bare-metal API", version: `1.${maximumMinor}`, description },
    servers: [{ url: '/' }],
    security: [{ basic: [] }, { bearer: [] }],
  });
  const paths = Object.entries((document.paths ?? {}) as Record<string, Record<string, Json>>);
  const plain = Object.entries(plainOperations).filter(([path]) => !(document.paths ?? {})[path]);
  return {
    ...withoutEmpty(document),
    components: {
      ...document.components,
      parameters: { Version: versionHeader },
      responses: {
        Fault: { description: 'An error', content: { 'application/json': { schema: reference('Fault') } } },
        Status: { description: 'An error', content: { 'application/json': { schema: reference('Status') } } },
      },
      securitySchemes,
      schemas: { ...document.components?.schemas, Fault: faultSchema() },
    },
    paths: Object.fromEntries([
      ...paths.map(([path, operations]) => [
        path,
        Object.fromEntries(
          Object.entries(operations).map(([method, operation]) => [method, describe(method, path, operation)]),
        ),
      ]),
      ...plain.map(([path, summary]) => [path, { get: plainOperation(path, summary) }]),
    ]) as Json,
  };
}

function withoutEmpty({ webhooks, ...document }: Document): Json {
  return webhooks && Object.keys(webhooks).length > 0 ? { ...document, webhooks } : document;
}

/** Returns the form of Ironic's errors, which no route declares. */
function faultSchema(): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(Fault);
  return rest;
}

const publicOperations = new Set(
  accessRules.filter(({ access }) => access === 'public').map(({ method, path }) => `${method} ${path}`),
);

/** Describes the operation with its answers' schemas, the form of its errors, and the header that all have. */
function describe(method: string, path: string, operation: Json): Json {
  const key = `${method.toUpperCase()} ${path}`;
  return {
    operationId: operationId(method, path),
    ...operation,
    ...(path.startsWith('/v1')
      ? {
          parameters: [
            ...((operation['parameters'] as Json[] | undefined) ?? []),
            { $ref: '#/components/parameters/Version' },
          ],
        }
      : {}),
    ...(publicOperations.has(key) ? { security: [] } : {}),
    responses: {
      ...(operation['responses'] as Json),
      default: { $ref: `#/components/responses/${isAirshipPath(path) ? 'Status' : 'Fault'}` },
    },
  };
}

function plainOperation(path: string, summary: string): Json {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  return {
    operationId: operationId('get', path),
    tags: [/^\/(boot|images)\//.test(path) ? 'boot' : 'service'],
    summary,
    ...(names.length > 0
      ? { parameters: names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })) }
      : {}),
    ...(path === '/metrics' ? {} : { security: [] }),
    responses: { 200: { description: summary, content: plainContent(path) } },
  };
}

/** Returns a file's media type by its name; bytes have no schema. */
function plainContent(path: string): Json {
  if (path.endsWith('.json')) return { 'application/json': { schema: { type: 'object' } } };
  if (path === '/docs' || path === '/board') return { 'text/html': { schema: { type: 'string' } } };
  if (path.endsWith('.ipxe')) return { 'text/plain': { schema: { type: 'string' } } };
  return { 'application/octet-stream': {} };
}
