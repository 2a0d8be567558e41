/**
 * The name of an operation, which generated clients use as their method's: `listNodes`, `showNode`, `updateNode`. It follows
 * from method and path alone, and so stays as long as they do.
 */
export function operationId(method: string, path: string): string {
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

/** What is served below `/api/v1.0` and, as Promenade has it, without: the latter is `…Bare`. */
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
