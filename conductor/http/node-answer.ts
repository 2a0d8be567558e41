import type { Context } from 'hono';
import type { ConductorContext } from '#conductor/context.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { requireVersion } from '#conductor/http/versions.ts';
import { isNodeField, type NodeField, nodeFieldVersions } from '#conductor/nodes/node-fields.ts';
import { readSurroundings } from '#conductor/nodes/node-surroundings.ts';
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

/** Nodes as the API answers them, with links. */
export async function answerNodes(
  context: Pick<ConductorContext, 'db' | 'config' | 'drivers'>,
  c: Context<ApiEnv>,
  rows: readonly NodeRow[],
  choice: NodeFieldChoice,
): Promise<Record<string, unknown>[]> {
  const version = c.get('version');
  const origin = originOf(c);
  const surroundingsOf = await readSurroundings(
    context.db,
    rows.map((row) => row.uuid),
  );
  return rows.map((row) => ({
    ...viewNode(row, surroundingsOf(row.uuid), {
      version,
      fields: choice.fields,
      conductorName: context.config.conductorName,
    }),
    links: linksTo(origin, `nodes/${row.uuid}`),
    ...Object.fromEntries(
      choice.subResources
        .filter((name) => subResources[name] <= version)
        .map((name) => [name, linksTo(origin, `nodes/${row.uuid}/${name}`)]),
    ),
  }));
}

export async function answerNode(
  context: Pick<ConductorContext, 'db' | 'config' | 'drivers'>,
  c: Context<ApiEnv>,
  row: NodeRow,
  choice: NodeFieldChoice = allNodeFields,
): Promise<Record<string, unknown>> {
  const [answer] = await answerNodes(context, c, [row], choice);
  return answer ?? {};
}
