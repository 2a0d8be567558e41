import type { Caller } from '#conductor/kernel/caller.ts';
import type { Networks } from '#conductor/networks/networks-file.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Whether the caller may put a node's switch ports there: of a project only where the network names the project, for the
 * others are other projects', or where machines are provisioned. Pure.
 * @throws AppError `forbidden` for a project's caller, whether or not there is such a network; else `invalid_argument`
 * naming those there are.
 */
export function requireAttachable({ networks }: Networks, name: string, { project }: Pick<Caller, 'project'>): void {
  const network = networks.find((each) => each.name === name);
  if (project !== undefined) {
    if (network?.projects?.includes(project)) return;
    throw new AppError(
      'forbidden',
      `Access was denied to the following resource: baremetal:node:vif:attach (id: project ${project} has no network ` +
        `'${name}'; \`projects\` in the networks file says whose a network is).`,
    );
  }
  if (network) return;
  const known = networks.map((each) => each.name).join(', ') || 'none';
  throw new AppError('invalid_argument', `id: no network '${name}'; the networks file has ${known}.`);
}
