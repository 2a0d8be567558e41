import type { Role } from '#conductor/kernel/caller.ts';
import type { NodeScope } from '#conductor/nodes/node-ownership.ts';

/**
 * The least role that may do it, by whom the caller acts for: nobody in particular (all nodes are theirs), the project
 * that owns the node, the project that has leased it. Absent = nobody of these. As Ironic's own policies have it
 * (`ironic/common/policy.py`), whose "system" is a caller without project, but for what only administrators may here:
 * enrol, delete, describe how a BMC is reached.
 */
export interface Access {
  readonly everywhere: Role;
  readonly owner?: Role;
  readonly lessee?: Role;
}

/** What of the request says which node, and so which project, it is about. */
export type Scope =
  /** No node: owner's role is any project's. */
  | 'none'
  /** The handler lists, finds and makes only what is the caller's project's. */
  | 'handler'
  | NodeScope;

export interface AccessRule {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As in the OpenAPI document. */
  readonly path: string;
  /** Ironic's name for it, which refusals carry; ours begin with `baton:`. */
  readonly policy: string;
  readonly scope: Scope;
  readonly access: Access | 'public';
}

const read: Access = { everywhere: 'reader', owner: 'reader', lessee: 'reader' };
const ownerReads: Access = { everywhere: 'reader', owner: 'reader' };
const readEverywhere: Access = { everywhere: 'reader' };
const operate: Access = { everywhere: 'member', owner: 'member', lessee: 'admin' };
const ownerOperates: Access = { everywhere: 'member', owner: 'member' };
const manage: Access = { everywhere: 'member', owner: 'admin' };
const manageVolumes: Access = { everywhere: 'member', owner: 'admin', lessee: 'admin' };
const allocate: Access = { everywhere: 'member', owner: 'member', lessee: 'member' };
const administer: Access = { everywhere: 'admin' };
const administerOwn: Access = { everywhere: 'admin', owner: 'admin' };

type Row = readonly [AccessRule['method'], path: string, policy: string, access: Access];

function scoped(scope: Scope, rows: readonly Row[]): AccessRule[] {
  return rows.map(([method, path, policy, access]) => ({ method, path, policy, scope, access }));
}

const node = '/v1/nodes/{node}';
const airship = '/api/v1.0';
const revision = `${airship}/revisions/{revision}`;

/**
 * What has to do without: clients negotiate before they log in, firmware and ramdisks have nothing to log in with.
 * Heartbeats and reports carry the boot's own token instead.
 */
const openToStrangers: AccessRule[] = [
  ['GET', '/'],
  ['GET', '/v1'],
  ['GET', '/openapi.json'],
  ['GET', '/board'],
  ['GET', '/board/{file}'],
  ['GET', '/docs'],
  ['GET', '/docs/{file}'],
  ['GET', '/healthz'],
  ['GET', '/readyz'],
  ['GET', '/versions'],
  ['GET', '/api/v1.0/health'],
  ['GET', '/v1/lookup'],
  ['POST', '/v1/heartbeat/{node}'],
  ['POST', '/v1/progress/{node}'],
  ['POST', '/v1/neighbours/{node}'],
  ['POST', '/v1/continue_inspection'],
  ['GET', '/boot/boot.ipxe'],
  ['GET', '/boot/node.ipxe'],
  ['GET', '/boot/secrets.img'],
  ['GET', '/boot/vmlinuz'],
  ['GET', '/boot/initrd.img'],
  ['GET', '/boot/snponly.efi'],
  ['GET', '/boot/undionly.kpxe'],
  ['GET', '/boot/ipxe.efi'],
  ['GET', '/boot/ipxe-arm64.efi'],
  ['GET', '/images/*'],
  // whoever knows the name may read it: only the BMC and the conductor do
  ['GET', '/media/{node}/{file}'],
].map(([method, path]) => ({
  method: method as AccessRule['method'],
  path: path as string,
  policy: 'public_api',
  scope: 'none',
  access: 'public',
}));

/** Who may do what: every operation has its row here, or nobody may (`access-rules.test.ts`). */
export const accessRules: readonly AccessRule[] = [
  ...scoped('handler', [
    ['GET', '/v1/nodes', 'baremetal:node:list', read],
    ['GET', '/v1/nodes/detail', 'baremetal:node:list', read],
    ['GET', '/v1/fleet', 'baremetal:node:list', read],
    ['GET', '/v1/flows', 'baton:flow:list', ownerReads],
    ['GET', '/v1/events', 'baton:event:list', read],
    ['GET', '/v1/session', 'baton:session', read],
    ['POST', '/v1/session', 'baton:session', read],
    ['DELETE', '/v1/session', 'baton:session', read],
    // the new node is the project's own (`ownerOfNew`)
    ['POST', '/v1/nodes', 'baremetal:node:create', administerOwn],
  ]),
  ...scoped('node in query', [['GET', '/v1/nodes/validate', 'baremetal:node:validate', operate]]),
  ...scoped('node', [
    ['GET', node, 'baremetal:node:get', read],
    // of what may be changed, `authorize.ts` has more
    ['PATCH', node, 'baremetal:node:update', operate],
    ['DELETE', node, 'baremetal:node:delete', administerOwn],
    ['GET', `${node}/validate`, 'baremetal:node:validate', operate],
    ['PUT', `${node}/maintenance`, 'baremetal:node:set_maintenance', operate],
    ['DELETE', `${node}/maintenance`, 'baremetal:node:clear_maintenance', operate],
    ['GET', `${node}/management/boot_device`, 'baremetal:node:get_boot_device', manage],
    ['GET', `${node}/management/boot_device/supported`, 'baremetal:node:get_boot_device', manage],
    ['PUT', `${node}/management/boot_device`, 'baremetal:node:set_boot_device', manage],
    ['GET', `${node}/management/indicators`, 'baremetal:node:get_indicator_state', read],
    ['GET', `${node}/management/indicators/{indicator}`, 'baremetal:node:get_indicator_state', read],
    ['PUT', `${node}/management/indicators/{indicator}`, 'baremetal:node:set_indicator_state', ownerOperates],
    ['GET', `${node}/vmedia`, 'baremetal:node:vmedia:get', manage],
    ['POST', `${node}/vmedia`, 'baremetal:node:vmedia:attach', manage],
    ['DELETE', `${node}/vmedia`, 'baremetal:node:vmedia:detach', manage],
    ['GET', `${node}/sensors`, 'baton:node:sensors', ownerReads],
    ['GET', `${node}/event_log`, 'baton:node:event_log', ownerReads],
    ['PUT', `${node}/management/inject_nmi`, 'baremetal:node:inject_nmi', manage],
    ['POST', `${node}/plan`, 'baton:node:plan', operate],
    ['GET', `${node}/states`, 'baremetal:node:get_states', read],
    ['PUT', `${node}/states/power`, 'baremetal:node:set_power_state', operate],
    ['PUT', `${node}/states/provision`, 'baremetal:node:set_provision_state', operate],
    ['PUT', `${node}/states/raid`, 'baremetal:node:set_raid_state', ownerOperates],
    ['GET', `${node}/states/console`, 'baremetal:node:get_console', ownerOperates],
    ['PUT', `${node}/states/console`, 'baremetal:node:set_console_state', ownerOperates],
    ['GET', `${node}/vendor_passthru/methods`, 'baremetal:node:vendor_passthru', administerOwn],
    ['PUT', `${node}/states/boot_mode`, 'baremetal:node:set_boot_mode', operate],
    ['PUT', `${node}/states/secure_boot`, 'baremetal:node:set_secure_boot', operate],
    ['GET', `${node}/network`, 'baton:node:network', ownerReads],
    ['POST', `${node}/network/repair`, 'baton:node:network:repair', operate],
    ['GET', `${node}/vifs`, 'baremetal:node:vif:list', read],
    ['POST', `${node}/vifs`, 'baremetal:node:vif:attach', operate],
    ['DELETE', `${node}/vifs/{vif}`, 'baremetal:node:vif:detach', operate],
    ['GET', `${node}/traits`, 'baremetal:node:traits:list', read],
    ['PUT', `${node}/traits`, 'baremetal:node:traits:set', manage],
    ['PUT', `${node}/traits/{trait}`, 'baremetal:node:traits:set', manage],
    ['DELETE', `${node}/traits`, 'baremetal:node:traits:delete', manage],
    ['DELETE', `${node}/traits/{trait}`, 'baremetal:node:traits:delete', manage],
    ['GET', `${node}/bios`, 'baremetal:node:bios:get', read],
    ['GET', `${node}/bios/{setting}`, 'baremetal:node:bios:get', read],
    ['GET', `${node}/firmware`, 'baremetal:node:firmware:get', read],
    ['GET', `${node}/children`, 'baremetal:node:get', read],
    ['GET', `${node}/history`, 'baremetal:node:history:get', ownerReads],
    ['GET', `${node}/history/{entry}`, 'baremetal:node:history:get', ownerReads],
    ['GET', `${node}/inspection_rules`, 'baton:node:inspection_rules', readEverywhere],
    ['GET', `${node}/inventory`, 'baremetal:node:inventory:get', ownerReads],
    ['GET', `${node}/flow`, 'baton:node:flow', ownerReads],
    ['POST', `${node}/flow/retry`, 'baton:node:flow:retry', operate],
    ['POST', `${node}/flow/skip`, 'baton:node:flow:skip', operate],
    ['GET', `${node}/flow/logs`, 'baton:node:flow:logs', { everywhere: 'member', owner: 'member' }],
    ['GET', `${node}/console/shell`, 'baton:node:console', administerOwn],
    ['GET', `${node}/console/serial`, 'baton:node:console', administerOwn],
    ['GET', `${node}/ports`, 'baremetal:port:list', read],
    ['GET', `${node}/portgroups`, 'baremetal:portgroup:list', read],
    ['GET', `${node}/ports/detail`, 'baremetal:port:list', read],
    ['GET', `${node}/portgroups/detail`, 'baremetal:portgroup:list', read],
    ['GET', `${node}/volume`, 'baremetal:volume:list', read],
    ['GET', `${node}/volume/connectors`, 'baremetal:volume:list', read],
    ['GET', `${node}/volume/targets`, 'baremetal:volume:list', read],
    ['GET', `${node}/allocation`, 'baremetal:allocation:get', read],
    ['DELETE', `${node}/allocation`, 'baremetal:allocation:delete', operate],
  ]),
  ...scoped('handler', [
    ['GET', '/v1/ports', 'baremetal:port:list', read],
    ['GET', '/v1/ports/detail', 'baremetal:port:list', read],
    ['GET', '/v1/portgroups', 'baremetal:portgroup:list', read],
    ['GET', '/v1/portgroups/detail', 'baremetal:portgroup:list', read],
    ['GET', '/v1/volume/connectors', 'baremetal:volume:list', read],
    ['GET', '/v1/volume/targets', 'baremetal:volume:list', read],
  ]),
  ...scoped('node in body', [
    ['POST', '/v1/ports', 'baremetal:port:create', administerOwn],
    ['POST', '/v1/portgroups', 'baremetal:portgroup:create', administerOwn],
    ['POST', '/v1/volume/connectors', 'baremetal:volume:create', manageVolumes],
    ['POST', '/v1/volume/targets', 'baremetal:volume:create', manageVolumes],
  ]),
  ...scoped('port', [
    ['GET', '/v1/ports/{port}', 'baremetal:port:get', read],
    ['PATCH', '/v1/ports/{port}', 'baremetal:port:update', manage],
    ['DELETE', '/v1/ports/{port}', 'baremetal:port:delete', administerOwn],
  ]),
  ...scoped('portgroup', [
    ['GET', '/v1/portgroups/{portgroup}', 'baremetal:portgroup:get', read],
    ['GET', '/v1/portgroups/{portgroup}/ports', 'baremetal:port:list', read],
    ['GET', '/v1/portgroups/{portgroup}/ports/detail', 'baremetal:port:list', read],
    ['PATCH', '/v1/portgroups/{portgroup}', 'baremetal:portgroup:update', manage],
    ['DELETE', '/v1/portgroups/{portgroup}', 'baremetal:portgroup:delete', administerOwn],
  ]),
  ...scoped('volume connector', [
    ['GET', '/v1/volume/connectors/{volume}', 'baremetal:volume:get', read],
    ['PATCH', '/v1/volume/connectors/{volume}', 'baremetal:volume:update', manageVolumes],
    ['DELETE', '/v1/volume/connectors/{volume}', 'baremetal:volume:delete', manageVolumes],
  ]),
  ...scoped('volume target', [
    ['GET', '/v1/volume/targets/{volume}', 'baremetal:volume:get', read],
    ['PATCH', '/v1/volume/targets/{volume}', 'baremetal:volume:update', manageVolumes],
    ['DELETE', '/v1/volume/targets/{volume}', 'baremetal:volume:delete', manageVolumes],
  ]),
  ...scoped('handler', [
    ['GET', '/v1/allocations', 'baremetal:allocation:list', read],
    // the new allocation is the project's own, and so are the nodes that it may get
    ['POST', '/v1/allocations', 'baremetal:allocation:create', allocate],
    ['GET', '/v1/allocations/{allocation}', 'baremetal:allocation:get', read],
    ['PATCH', '/v1/allocations/{allocation}', 'baremetal:allocation:update', allocate],
    ['DELETE', '/v1/allocations/{allocation}', 'baremetal:allocation:delete', allocate],
  ]),
  ...scoped('handler', [
    // those of the project, and public ones
    ['GET', '/v1/runbooks', 'baremetal:runbook:list', ownerReads],
    ['POST', '/v1/runbooks', 'baremetal:runbook:create', manage],
    ['GET', '/v1/runbooks/{runbook}', 'baremetal:runbook:get', ownerReads],
    ['PATCH', '/v1/runbooks/{runbook}', 'baremetal:runbook:update', manage],
    ['DELETE', '/v1/runbooks/{runbook}', 'baremetal:runbook:delete', manage],
  ]),
  ...scoped('none', [
    ['GET', '/v1/chassis', 'baremetal:chassis:get', readEverywhere],
    ['GET', '/v1/chassis/detail', 'baremetal:chassis:get', readEverywhere],
    ['POST', '/v1/chassis', 'baremetal:chassis:create', administer],
    ['GET', '/v1/chassis/{chassis}', 'baremetal:chassis:get', readEverywhere],
    ['GET', '/v1/chassis/{chassis}/nodes', 'baremetal:chassis:get', readEverywhere],
    ['GET', '/v1/chassis/{chassis}/nodes/detail', 'baremetal:chassis:get', readEverywhere],
    ['PATCH', '/v1/chassis/{chassis}', 'baremetal:chassis:update', { everywhere: 'member' }],
    ['DELETE', '/v1/chassis/{chassis}', 'baremetal:chassis:delete', administer],
    ['GET', '/v1/shards', 'baremetal:shards:get', readEverywhere],
    ['GET', '/v1/drivers', 'baremetal:driver:get', readEverywhere],
    ['GET', '/v1/drivers/{driver}', 'baremetal:driver:get', readEverywhere],
    ['GET', '/v1/drivers/{driver}/properties', 'baremetal:driver:get_properties', readEverywhere],
    [
      'GET',
      '/v1/drivers/{driver}/raid/logical_disk_properties',
      'baremetal:driver:get_raid_logical_disk_properties',
      readEverywhere,
    ],
    ['GET', '/v1/drivers/{driver}/vendor_passthru/methods', 'baremetal:driver:vendor_passthru', administer],
    ['GET', '/v1/conductors', 'baremetal:conductor:get', readEverywhere],
    ['GET', '/v1/conductors/{hostname}', 'baremetal:conductor:get', readEverywhere],
    ['GET', '/v1/deploy_templates', 'baremetal:deploy_template:get', readEverywhere],
    ['POST', '/v1/deploy_templates', 'baremetal:deploy_template:create', administer],
    ['GET', '/v1/deploy_templates/{template}', 'baremetal:deploy_template:get', readEverywhere],
    ['PATCH', '/v1/deploy_templates/{template}', 'baremetal:deploy_template:update', administer],
    ['DELETE', '/v1/deploy_templates/{template}', 'baremetal:deploy_template:delete', administer],
    ['GET', '/v1/inspection_rules', 'baremetal:inspection_rule:list', readEverywhere],
    ['POST', '/v1/inspection_rules', 'baremetal:inspection_rule:create', administer],
    ['GET', '/v1/inspection_rules/{rule}', 'baremetal:inspection_rule:get', readEverywhere],
    ['PATCH', '/v1/inspection_rules/{rule}', 'baremetal:inspection_rule:update', administer],
    ['DELETE', '/v1/inspection_rules/{rule}', 'baremetal:inspection_rule:delete', administer],
    // where connectors and targets are
    ['GET', '/v1/volume', 'baremetal:volume:list', read],
    ['GET', '/v1/settings', 'baton:settings:get', administer],
    ['GET', '/v1/images', 'baton:image:get', readEverywhere],
    ['GET', '/v1/images/{image}', 'baton:image:get', readEverywhere],
    ['DELETE', '/v1/images/{image}', 'baton:image:delete', administer],
    ['POST', '/v1/images/prune', 'baton:image:prune', administer],
    ['GET', '/v1/tokens', 'baton:token:get', administer],
    ['POST', '/v1/tokens', 'baton:token:create', administer],
    ['DELETE', '/v1/tokens/{token}', 'baton:token:delete', administer],
    ['GET', '/v1/webhooks', 'baton:webhook:get', administer],
    ['POST', '/v1/webhooks', 'baton:webhook:create', administer],
    ['GET', '/v1/webhooks/{webhook}', 'baton:webhook:get', administer],
    ['PATCH', '/v1/webhooks/{webhook}', 'baton:webhook:update', administer],
    ['DELETE', '/v1/webhooks/{webhook}', 'baton:webhook:delete', administer],
    ['POST', '/v1/webhooks/{webhook}/test', 'baton:webhook:test', administer],
    ['GET', '/v1/webhooks/{webhook}/deliveries', 'baton:webhook:get', administer],
    // open to strangers with BATON_METRICS=anybody
    ['GET', '/metrics', 'baton:metrics', readEverywhere],
    ['GET', `${airship}/actions`, 'baton:site_action:get', readEverywhere],
    ['POST', `${airship}/actions`, 'baton:site_action:create', administer],
    ['GET', `${airship}/actions/{action}`, 'baton:site_action:get', readEverywhere],
    ['GET', `${airship}/actions/{action}/nodes`, 'baton:site_action:get', readEverywhere],
    ['POST', `${airship}/actions/{action}/control/{verb}`, 'baton:site_action:control', administer],
    ['GET', `${airship}/actions/{action}/steps/{step}`, 'baton:site_action:get', readEverywhere],
    ['GET', `${airship}/actions/{action}/validations/{validation}`, 'baton:site_action:get', readEverywhere],
    ['GET', `${airship}/notedetails/{note}`, 'baton:site_action:get', readEverywhere],
    ['GET', `${airship}/actions/{action}/steps/{step}/logs`, 'baton:site_action:get', readEverywhere],
    ['GET', `${airship}/site_statuses`, 'baton:site_status:get', readEverywhere],
    ['GET', `${airship}/configdocs`, 'baton:configdocs:get', readEverywhere],
    ['POST', `${airship}/configdocs/{collection}`, 'baton:configdocs:create', administer],
    ['GET', `${airship}/configdocs/{collection}`, 'baton:configdocs:get', readEverywhere],
    ['POST', `${airship}/commitconfigdocs`, 'baton:configdocs:commit', administer],
    ['GET', `${airship}/renderedconfigdocs`, 'baton:configdocs:get', readEverywhere],
    ['GET', `${airship}/revisions`, 'baton:revision:get', readEverywhere],
    ['GET', revision, 'baton:revision:get', readEverywhere],
    ['DELETE', revision, 'baton:revision:delete', administer],
    ['GET', `${revision}/documents`, 'baton:revision:get', readEverywhere],
    ['GET', `${revision}/diff/{other}`, 'baton:revision:get', readEverywhere],
    ['GET', `${revision}/deepdiff/{other}`, 'baton:revision:get', readEverywhere],
    ['GET', `${revision}/tags`, 'baton:revision:get', readEverywhere],
    ['DELETE', `${revision}/tags`, 'baton:revision:tag', administer],
    ['GET', `${revision}/tags/{tag}`, 'baton:revision:get', readEverywhere],
    ['POST', `${revision}/tags/{tag}`, 'baton:revision:tag', administer],
    ['DELETE', `${revision}/tags/{tag}`, 'baton:revision:tag', administer],
    ['POST', `${airship}/rollback/{revision}`, 'baton:revision:rollback', administer],
    // a POST that changes nothing
    ['POST', `${airship}/nodefilter`, 'baton:site_design:get', readEverywhere],
    ['GET', `${airship}/site/groups`, 'baton:site_design:get', readEverywhere],
    ['GET', `${airship}/credentials`, 'baton:credential:get', readEverywhere],
    ['GET', `${airship}/credentials/{credential}`, 'baton:credential:get', readEverywhere],
    ['PUT', `${airship}/credentials/{credential}`, 'baton:credential:set', administer],
    ['DELETE', `${airship}/credentials/{credential}`, 'baton:credential:delete', administer],
    ['GET', `${airship}/plugins`, 'baton:plugin:get', readEverywhere],
    ['POST', `${airship}/plugins`, 'baton:plugin:create', administer],
    ['GET', `${airship}/plugins/order`, 'baton:plugin:get', readEverywhere],
    ['GET', `${airship}/plugins/{name}/{version}`, 'baton:plugin:get', readEverywhere],
    ['DELETE', `${airship}/plugins/{name}/{version}`, 'baton:plugin:delete', administer],
  ]),
  // under Baton's paths and the seed's
  ...['/v1', airship].flatMap((prefix) =>
    scoped('none', [
      ['POST', `${prefix}/nodes/{node_id}/decommission`, 'baton:node:decommission', administer],
      ['POST', `${prefix}/nodes/{node_id}/drain`, 'baton:kubernetes:drain', administer],
      ['POST', `${prefix}/nodes/{node_id}/clear-labels`, 'baton:kubernetes:clear_labels', administer],
      ['POST', `${prefix}/nodes/{node_id}/restore-labels`, 'baton:kubernetes:restore_labels', administer],
      ['POST', `${prefix}/nodes/{node_id}/shutdown-kubelet`, 'baton:kubernetes:shutdown_kubelet', administer],
      ['POST', `${prefix}/nodes/{node_id}/remove-from-cluster`, 'baton:kubernetes:remove_node', administer],
      ['POST', `${prefix}/nodes/{node_id}/remove-etcd`, 'baton:etcd:remove_node', administer],
    ]),
  ),
  ...scoped('none', [
    ['GET', '/etcd-cluster-health-statuses', 'baton:etcd:get', readEverywhere],
    ['GET', `${airship}/etcd-cluster-health-statuses`, 'baton:etcd:get', readEverywhere],
    ['GET', `${airship}/receipts`, 'baton:receipt:get', readEverywhere],
    ['GET', `${airship}/receipts/{receipt}`, 'baton:receipt:get', readEverywhere],
    ['GET', `${airship}/receipt-keys`, 'baton:receipt_key:get', readEverywhere],
    ['POST', `${airship}/receipt-keys`, 'baton:receipt_key:rotate', administer],
  ]),
  ...openToStrangers,
];
