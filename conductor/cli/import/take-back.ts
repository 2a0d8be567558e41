import type { NodeAnswer } from '#conductor/api/resources.ts';
import { type Fleet, type FleetNode, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import { importMark } from '#conductor/cli/import/prepare-fleet.ts';
import { readWorkHere } from '#conductor/cli/import/work-here.ts';
import { describeOtherMachine } from '#conductor/cli/nodes/same-machine.ts';
import { type ApiClient, callFor, type Json } from '#conductor/cli/shell/api-client.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

export interface TakenNode {
  readonly name: string;
  /** Its provision state before. */
  readonly state: string;
  /** Reason why it is still there; `undefined` = it is out, or would be in a dry run. */
  readonly error: string | undefined;
}

const atOnce = 16;
const fields = (
  'uuid,driver,driver_info,maintenance,protected,extra,provision_state,target_provision_state,reservation,' +
  'driver_internal_info'
).split(',');

/**
 * Takes nodes that an import made out of Baton again, without a look at their machines: maintenance first, in which nothing
 * is torn down. A node of the same name that was made otherwise stays, and one that Baton has worked on since.
 * @returns those of the fleet's names that were there
 */
export async function takeBack(
  fleet: Fleet,
  { client, isDryRun }: { readonly client: ApiClient; readonly isDryRun: boolean },
): Promise<TakenNode[]> {
  const taken = await inParallel(
    fleet.nodes,
    async (node): Promise<TakenNode | undefined> => {
      const { name } = node;
      const ident = encodeURIComponent(name);
      const found = await callFor<NodeAnswer>(client, 'GET', `/v1/nodes/${ident}?fields=${fields.join(',')}`);
      if (!found) return undefined;
      const state = String(found.provision_state);
      try {
        const why = describeStaying(node, found, fleet.source) ?? describeWork(await readWorkHere(client, ident));
        if (why !== undefined) return { name, state, error: why };
        if (!isDryRun) await takeOut(client, ident, found);
        return { name, state, error: undefined };
      } catch (error) {
        return { name, state, error: errorChain(error) };
      }
    },
    { atOnce },
  );
  return taken.filter((each) => each !== undefined);
}

async function takeOut(client: ApiClient, ident: string, found: NodeAnswer): Promise<void> {
  if (found.protected) {
    await client.call('PATCH', `/v1/nodes/${ident}`, [{ op: 'add', path: '/protected', value: false }]);
  }
  if (!found.maintenance) {
    await client.call('PUT', `/v1/nodes/${ident}/maintenance`, { reason: 'it goes back to where it came from' });
  }
  await client.call('DELETE', `/v1/nodes/${ident}`);
}

/** Describes why a node is not the other system's to have back; `undefined` = it may go. Pure. */
function describeStaying({ fields: written }: FleetNode, found: Json, source: string): string | undefined {
  const mark = textIn(found, 'extra', importMark);
  const target = textIn(found, 'target_provision_state');
  const holder = textIn(found, 'reservation');
  const differences = describeOtherMachine(written, found, { needsProof: false });
  if (mark === undefined) return `no import made it (its extra has no ${importMark}); baton node delete takes it out`;
  if (mark !== source) return `it was imported from ${mark}, not from ${source}`;
  if (differences.length > 0) return `it is another machine than the source's: ${differences.join(', ')}`;
  if (target !== undefined) {
    return `it is in ${textIn(found, 'provision_state')}, on the way to ${target}: let that end, or abort it`;
  }
  if (holder !== undefined) return `${holder} is at work on it: repeat the command later`;
  const until = textIn(found, 'driver_internal_info', 'baton_power_hold', 'until');
  if (until !== undefined) return `its power must not be switched until ${until} (baton node show)`;
  const owed = objectIn(found, 'driver_internal_info')['baton_owed_wipe'];
  return owed === undefined ? undefined : 'a wipe of its disks is owed';
}

function describeWork(kinds: readonly string[]): string | undefined {
  if (kinds.length === 0) return undefined;
  return `Baton has worked on it since (${kinds.join(', ')}): the source no longer describes it; baton node delete takes it out`;
}
