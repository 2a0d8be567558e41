import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type JsonPatch, patchRoots } from '#conductor/kernel/json-patch.ts';
import { type InterfaceKind, interfaceKinds } from '#conductor/model/interface-kinds.ts';
import { nodeInterfaces, supportedInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The interfaces that the patch does not name are the driver's defaults again. @throws AppError `invalid_argument`. */
export function withDriverDefaults(patch: JsonPatch): JsonPatch {
  if (!patchRoots(patch).includes('driver')) {
    throw new AppError(
      'invalid_argument',
      "The reset_interfaces parameter can only be used when changing the node's driver.",
    );
  }
  return [...interfaceKinds.map(back), ...patch];
}

/** For a node that gets this driver: its defaults in place of what was nobody's choice, and of what it does not have. */
export function followDriver(
  driver: string,
  node: Pick<NodeRow, 'driver' | 'networkInterface' | 'deployInterface' | 'interfaces'>,
): JsonPatch {
  const names = nodeInterfaces(node);
  const isChosen = (kind: InterfaceKind) =>
    kind === 'network' || (kind === 'deploy' ? node.deployInterface !== null : kind in node.interfaces);
  return interfaceKinds
    .filter((kind) => !isChosen(kind) || !supportedInterfaces(driver, kind).includes(names[kind]))
    .map(back);
}

function back(kind: InterfaceKind): JsonPatch[number] {
  return { op: 'remove', path: `/${kind}_interface` };
}
