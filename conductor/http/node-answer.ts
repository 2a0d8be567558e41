import type { Context } from 'hono';
import { isForeignTo } from '#conductor/auth/node-ownership.ts';
import { namedConductor } from '#conductor/conductors/node-conductor.ts';
import type { ConductorContext } from '#conductor/context.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { requireVersion } from '#conductor/http/versions.ts';
import { isNodeField, type NodeField, nodeFieldVersions } from '#conductor/nodes/node-fields.ts';
import type { ShownNode } from '#conductor/nodes/node-surroundings.ts';
import { viewNode } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Sub-resources that a whole node links to, with the microversion since which. */
const subResources = { ports: 1, states: 1, portgroups: 24, volume: 32 } as const;
type SubResource = keyof typeof subResources;

const fieldsVersion = 8;

export interface NodeFieldChoice {
  readonly fields: readonly NodeField[] | undefined;
  readonly subResources: readonly SubResource[];
}

export const allNodeFields: NodeFieldChoice = {
  fields: undefined,
  subResources: Object.keys(subResources) as SubResource[],
};

/**
 * The fields of `?fields=a,b`.
 * @throws AppError `invalid_argument` for one that does not exist, `not_acceptable` for one newer than the version.
 */
export function parseFields(text: string, version: number): NodeFieldChoice {
  requireVersion(version, fieldsVersion, "query argument 'fields'");
  const names = text.split(',').map((name) => name.trim());
  const fields: NodeField[] = [];
  const linked: SubResource[] = [];
  for (const name of names) {
    if (isNodeField(name)) {
      requireVersion(version, nodeFieldVersions[name], `field '${name}'`);
      fields.push(name);
    } else if (Object.hasOwn(subResources, name)) {
      linked.push(name as SubResource);
    } else if (name !== 'links') {
      throw new AppError('invalid_argument', `fields: a node has no field '${name}'`);
    }
  }
  return { fields, subResources: linked };
}

/** What a node's lessee is not shown: how its BMC is reached, and what its owner's affairs say. In Ironic's words. */
function redact(view: Record<string, unknown>): void {
  for (const field of ['driver_info', 'driver_internal_info']) {
    if (field in view) view[field] = { content: `** Redacted - Requires baremetal:node:get:${field} permission. **` };
  }
  for (const field of ['last_error', 'reservation']) {
    if (field in view) view[field] = `** Redacted - Requires baremetal:node:get:${field} permission. **`;
  }
}

/** Nodes as the API answers them, with links. */
export function answerNodes(
  context: Pick<ConductorContext, 'conductors'>,
  c: Context<ApiEnv>,
  nodes: readonly ShownNode[],
  choice: NodeFieldChoice,
): Record<string, unknown>[] {
  const version = c.get('version');
  const origin = originOf(c);
  const caller = c.get('caller');
  const linked = choice.subResources.filter((name) => subResources[name] <= version);
  const options = { version, fields: choice.fields, conductorOf: (node: NodeRow) => namedConductor(context, node) };
  return nodes.map(({ node, surroundings }) => {
    const view = viewNode(node, surroundings, options);
    if (isForeignTo(caller, node)) redact(view);
    view['links'] = linksTo(origin, `nodes/${node.uuid}`);
    for (const name of linked) view[name] = linksTo(origin, `nodes/${node.uuid}/${name}`);
    return view;
  });
}

export function answerNode(
  context: Pick<ConductorContext, 'conductors'>,
  c: Context<ApiEnv>,
  node: ShownNode,
  choice: NodeFieldChoice = allNodeFields,
): Record<string, unknown> {
  return answerNodes(context, c, [node], choice)[0] ?? {};
}
