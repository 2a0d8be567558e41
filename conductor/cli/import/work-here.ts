import type { FlowView } from '#conductor/api/flows.ts';
import { textIn } from '#conductor/cli/import/fleet.ts';
import { type ApiClient, callFor, listAll } from '#conductor/cli/shell/api-client.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';

/** Flows after which a machine is as an import found it. */
const harmless: ReadonlySet<string> = new Set<FlowKindName>(['verify', 'adopt', 'inspect', 'inspect_by_bmc']);

/**
 * Asks which flows Baton has run on a node, whatever became of them, beside those that only look: `deploy`, `clean` … A
 * node that has any is no longer as the other system knows it.
 * @param ident as it stands in a path
 */
export async function readWorkHere(client: ApiClient, ident: string): Promise<string[]> {
  const path = `/v1/nodes/${ident}`;
  const latest = await callFor<FlowView>(client, 'GET', `${path}/flow`);
  const history = await listAll(client, { path: `${path}/history`, key: 'history' }, { detail: 'true' });
  // such an entry begins with the flow's kind
  const ended = history
    .filter((entry) => textIn(entry, 'event_type') === 'flow')
    .map((entry) => (textIn(entry, 'event') ?? '').replace(/ .*$/s, ''));
  return [...new Set([...ended, ...(latest ? [latest.kind] : [])])].filter((kind) => !harmless.has(kind)).sort();
}
