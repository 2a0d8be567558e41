import type { Context } from 'hono';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import type { VersionedFieldSet } from '#conductor/http/field-choice.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { namedConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import {
  defaultListFields,
  isNodeField,
  type NodeField,
  nodeFieldVersions,
} from '#conductor/model/node-field-names.ts';
import { isForeignTo } from '#conductor/nodes/node-ownership.ts';
import type { ShownNode } from '#conductor/nodes/node-surroundings.ts';
import { viewNode } from '#conductor/nodes/node-view.ts';

/** Sub-resources that a whole node links to, with the microversion since which. */
const subResources = { ports: 1, states: 1, portgroups: 24, volume: 32 } as const;
type SubResource = keyof typeof subResources;

export interface NodeFieldChoice {
  readonly fields: readonly NodeField[] | undefined;
  readonly subResources: readonly SubResource[];
}

export const allNodeFields: NodeFieldChoice = {
  fields: undefined,
  subResources: Object.keys(subResources) as SubResource[],
};

const isSubResource = (name: string): name is SubResource => Object.hasOwn(subResources, name);

/** A node's sub-resources are chosen like its fields. */
export const nodeFieldSet: VersionedFieldSet<NodeField | SubResource> = {
  what: 'node',
  all: [...(Object.keys(nodeFieldVersions) as NodeField[]), ...allNodeFields.subResources],
  listed: defaultListFields,
  versions: { ...nodeFieldVersions, ...subResources },
};

export function nodeFieldChoice(names: readonly (NodeField | SubResource)[]): NodeFieldChoice {
  if (names === nodeFieldSet.all) return allNodeFields;
  return { fields: names.filter(isNodeField), subResources: names.filter(isSubResource) };
}

/** What a node's lessee is not shown: how its BMC is reached, and what its owner's affairs say. In Ironic's words. */
export function redactNode(view: Record<string, unknown>): void {
  for (const field of ['driver_info', 'driver_internal_info']) {
    if (field in view) view[field] = { content: `** Redacted - Requires baremetal:node:get:${field} permission. **` };
  }
  for (const field of ['last_error', 'reservation']) {
    if (field in view) view[field] = `** Redacted - Requires baremetal:node:get:${field} permission. **`;
  }
}

/** Nodes as the API answers them, with links. */
export function answerNodes(
  context: Pick<HttpContext, 'conductors'>,
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
    if (isForeignTo(caller, node)) {
      redactNode(view);
      // otherwise it is who holds the reservation
      if ('conductor' in view) view['conductor'] = namedConductor(context, node) ?? null;
    }
    view['links'] = linksTo(origin, `nodes/${node.uuid}`);
    for (const name of linked) view[name] = linksTo(origin, `nodes/${node.uuid}/${name}`);
    return view;
  });
}

export function answerNode(
  context: Pick<HttpContext, 'conductors'>,
  c: Context<ApiEnv>,
  node: ShownNode,
  choice: NodeFieldChoice = allNodeFields,
): Record<string, unknown> {
  return answerNodes(context, c, [node], choice)[0] ?? {};
}
