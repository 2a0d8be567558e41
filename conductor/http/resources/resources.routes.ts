import { z } from 'zod';
import { Port, PortDescription, Portgroup, PortgroupDescription } from '#conductor/api/ports.ts';
import {
  DeployTemplate,
  InspectionRule,
  RuleDescription,
  Runbook,
  RunbookDescription,
  TemplateDescription,
} from '#conductor/api/templates.ts';
import {
  Chassis,
  ChassisDescription,
  ConnectorDescription,
  TargetDescription,
  VolumeConnector,
  VolumeIndex,
  VolumeTarget,
} from '#conductor/api/volumes.ts';
import { mountResource } from '#conductor/http/resources/mount-resource.ts';
import type { ResourcePlace } from '#conductor/http/resources/resource-routes.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, linksTo, originOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { ruleResource } from '#conductor/nodes/inspection/rules/rule-resource.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { portgroupResource, portResource } from '#conductor/nodes/ports/port.ts';
import { chassisResource } from '#conductor/nodes/resources/chassis.ts';
import type { ResourceRow } from '#conductor/nodes/resources/resource.ts';
import { connectorResource, targetResource } from '#conductor/nodes/resources/volume.ts';
import { templateResource } from '#conductor/templates/deploy-template.ts';
import { runbookResource, traitsVersion } from '#conductor/templates/runbook.ts';
import { AppError } from '#shared/errors/app-error.ts';

const uuid = z.guid({ error: 'must be a UUID' });
const { since } = connectorResource;
const ofNode = { parents: 'nodes', param: 'node', column: 'nodeUuid' } as const;

/** Microversions that have the keys of OVN's VTEP switches. */
const ofVtep = { since: 90, until: 105 } as const;
const ofConductorGroup = { conductor_group: 99, conductor_groups: 99 } as const;

type Mount = <Row extends ResourceRow>(place: ResourcePlace<Row>) => void;

/** Resources whose rows, fields and operations come from tables; the nodes of a chassis are in `nodes.routes.ts`. */
export function resourceRoutes(app: ApiApp, context: HttpContext): void {
  const mount: Mount = (place) => mountResource(app, context, place);
  mountPorts(mount);
  mount({
    resource: chassisResource,
    path: '/v1/chassis',
    key: 'chassis',
    param: 'chassis',
    uuidWord: 'chassis_uuid',
    plural: 'chassis',
    answer: Chassis,
    body: ChassisDescription.extend({ uuid: uuid.nullish() }),
    summaries: {
      create: 'Describe a chassis',
      change: 'Change a chassis by JSON patch',
      remove: 'Delete a chassis without nodes',
    },
    hasDetail: true,
    below: { key: 'nodes', since: 1 },
  });
  mount({
    resource: templateResource,
    path: '/v1/deploy_templates',
    key: 'deploy_templates',
    param: 'template',
    plural: 'deploy templates',
    hasNewMethods: true,
    answer: DeployTemplate,
    body: TemplateDescription.extend({ uuid: uuid.nullish() }),
    summaries: {
      create: 'Prepare steps under the name of a trait',
      change: 'Change a deploy template by JSON patch',
      remove: 'Delete a deploy template; flows that are planned already keep its steps',
    },
  });
  mount({
    resource: runbookResource,
    path: '/v1/runbooks',
    key: 'runbooks',
    param: 'runbook',
    plural: 'runbooks',
    hasNewMethods: true,
    answer: Runbook,
    body: RunbookDescription.extend({ uuid: uuid.nullish() }),
    completes: ({ name }, version) => (version < traitsVersion ? { traits: [requireTraitName(name)] } : {}),
    summaries: {
      create: 'Write down steps for nodes with a trait',
      change: 'Change a runbook by JSON patch',
      remove: 'Forget a runbook',
    },
  });
  mount({
    resource: ruleResource,
    path: '/v1/inspection_rules',
    key: 'inspection_rules',
    param: 'rule',
    uuidWord: 'inspection_rule_uuid',
    plural: 'inspection rules',
    hasNewMethods: true,
    answer: InspectionRule,
    body: RuleDescription.extend({ uuid: uuid.nullish() }),
    summaries: {
      create: 'Say what an inspection changes of a node',
      change: 'Change an inspection rule by JSON patch',
      remove: 'Forget an inspection rule',
    },
  });
  mountVolumeIndexes(app, context);
  mountVolumes(mount);
}

/** @throws AppError `invalid_argument` for a runbook's name that is no trait, as it had to be before 1.112. */
function requireTraitName(name: unknown): string {
  const parsed = TraitName.safeParse(name);
  if (parsed.success) return parsed.data;
  const why = parsed.error.issues[0]?.message ?? 'must be a trait';
  throw new AppError('invalid_argument', `Invalid body: name: ${why}; other names need API version 1.${traitsVersion}`);
}

/** Serves `/v1/ports` and `/v1/portgroups`, and those of nodes. */
function mountPorts(mount: Mount): void {
  mount({
    resource: portResource,
    path: '/v1/ports',
    key: 'ports',
    param: 'port',
    uuidWord: 'port_uuid',
    plural: 'ports',
    answer: Port,
    body: PortDescription.extend({
      address: PortDescription.shape.address.unwrap(),
      uuid: uuid.optional(),
      node_uuid: uuid.optional(),
      node_ident: z.string().optional(),
    }),
    alsoWritten: { node_ident: 94 },
    documentKeys: { local_link_connection: { 'vtep-logical-switch': ofVtep, 'vtep-physical-switch': ofVtep } },
    summaries: { create: 'Add a port to a node', change: 'Change a port by JSON patch', remove: 'Delete a port' },
    hasDetail: true,
    filters: { node: 1, node_uuid: 1, address: 1, portgroup: 24, shard: 82, ...ofConductorGroup },
    lists: [
      { ...ofNode, path: 'ports', summary: 'List the ports of a node', since: 1, hasDetail: true },
      {
        parents: 'portgroups',
        param: 'portgroup',
        path: 'ports',
        summary: 'List the ports of a port group',
        since: 24,
        column: 'portgroupUuid',
        hasDetail: true,
      },
    ],
  });
  mount({
    resource: portgroupResource,
    path: '/v1/portgroups',
    key: 'portgroups',
    param: 'portgroup',
    plural: 'port groups',
    answer: Portgroup,
    body: PortgroupDescription.extend({
      node_uuid: z.guid({ error: (issue) => `Expected UUID for node_uuid: ${String(issue.input)}` }),
      uuid: uuid.nullish(),
    }),
    summaries: {
      create: 'Add a port group to a node',
      change: 'Change a port group by JSON patch',
      remove: 'Delete a port group without ports',
    },
    hasDetail: true,
    below: { key: 'ports', since: 24 },
    filters: { node: 23, address: 23, shard: 106, ...ofConductorGroup },
    lists: [{ ...ofNode, path: 'portgroups', summary: 'List the port groups of a node', since: 24, hasDetail: true }],
  });
}

/** Serves `/v1/volume`, and the same below a node. */
function mountVolumeIndexes(app: ApiApp, context: HttpContext): void {
  const index = (origin: string, place: string) => ({
    links: linksTo(origin, `${place}/`),
    connectors: linksTo(origin, `${place}/connectors`),
    targets: linksTo(origin, `${place}/targets`),
  });
  const get = <const Path extends string>(path: Path) =>
    routesOf('volumes').get(path, 'Say where connectors and targets are', answers(200, 'links', VolumeIndex), {
      since,
    });
  app.openapi(get('/v1/volume'), (c) => c.json(index(originOf(c), 'volume')));
  app.openapi(get('/v1/nodes/{node}/volume'), async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    return c.json(index(originOf(c), `nodes/${node.uuid}/volume`));
  });
}

/** Connectors and targets of `/v1/volume`, and the same below a node. */
function mountVolumes(mount: Mount): void {
  const identity = { node_uuid: z.string(), uuid: uuid.nullish() };
  const shared = (key: string, what: string) => ({
    key,
    path: `/v1/volume/${key}`,
    param: 'volume',
    uuidWord: `a ${what}`,
    plural: `${what}s`,
    tag: 'volumes',
    filters: { node: since },
    lists: [{ ...ofNode, path: `volume/${key}`, summary: `List the ${what}s of a node`, since }],
  });
  const summaries = (create: string, what: string) => ({
    create,
    change: `Change a ${what} by JSON patch while its node is off`,
    remove: `Delete a ${what} while its node is off`,
  });
  mount({
    ...shared('connectors', connectorResource.what),
    resource: connectorResource,
    answer: VolumeConnector,
    body: ConnectorDescription.extend(identity),
    summaries: summaries('Say how a node reaches remote storage', connectorResource.what),
  });
  mount({
    ...shared('targets', targetResource.what),
    resource: targetResource,
    answer: VolumeTarget,
    body: TargetDescription.extend(identity),
    summaries: summaries('Give a node a remote volume', targetResource.what),
  });
}
