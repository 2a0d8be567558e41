import type { FlowRow } from '#conductor/db/schema/flow.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * What begins beside an open flow would take its ground away: it has to end first, or to be aborted.
 * @param asked the verb or kind of flow that is wanted
 * @throws AppError `conflict` naming the flow that is under way
 */
export function refuseUnderWay(
  node: Pick<NodeRow, 'uuid' | 'name'>,
  flow: Pick<FlowRow, 'kind' | 'uuid'> | undefined,
  asked: string,
): void {
  if (!flow) return;
  throw new AppError(
    'conflict',
    `'${asked}' is not possible on node ${node.uuid} while its ${flow.kind} is under way (flow ${flow.uuid}): wait until ` +
      `it ends, or stop it with \`baton abort ${node.name ?? node.uuid}\``,
  );
}
