import type { EngineContext } from '#conductor/flows/context.ts';
import { describeUnprovable } from '#conductor/flows/network/served-boot.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { isAcceptedSince } from '#conductor/model/tpm/accepted-since.ts';
import { attestationOf } from '#conductor/model/tpm/attestation-mode.ts';
import { findNodeTpm } from '#conductor/nodes/tpm/tpm-store.ts';

/**
 * Warns before a boot of the ramdisk: of one that can't be trusted however the machine boots it, where it has to be, and
 * where boots are attested of a newest one that was not trusted and that nobody has accepted since.
 */
export async function warnOfDistrust(
  context: Pick<EngineContext, 'config' | 'secrets' | 'db'>,
  node: NodeRow,
): Promise<string[]> {
  const mode = attestationOf(context.config, node);
  if (mode === 'off') return [];
  const problem = mode === 'require' ? await describeUnprovable(context, node) : undefined;
  if (problem !== undefined)
    return [`The flow fails before it boots the ramdisk, as boots must be trusted: ${problem}.`];
  const tpm = await findNodeTpm(context.db, node.uuid);
  if (!tpm || tpm.verdict === 'trusted') return [];
  if (isAcceptedSince({ by: tpm.acceptedBy, at: tpm.acceptedAt }, tpm.seenAt)) return [];
  const end = mode === 'require' ? ' The flow fails where the next one is not trusted either.' : '';
  return [`The newest attested boot was not trusted (${tpm.verdict}): ${tpm.reasons.join('; ')}.${end}`];
}
