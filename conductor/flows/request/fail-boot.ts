import { findAgentSession, noteAttestation } from '#conductor/agents/agent-session-store.ts';
import { hasBootProof } from '#conductor/agents/boot-proof.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootAttestation } from '#conductor/model/tpm/boot-attestation.ts';

/**
 * Ends the wait for a machine that has to prove itself and does not: the step that waits fails with the verdict. Only the
 * machine that was booted does so, by the boot's proof on its medium or by the TPM that the node is known by: any stranger
 * may ask in its place.
 */
export async function failBoot(
  context: Pick<EngineContext, 'db' | 'secrets' | 'clock' | 'nudge'>,
  node: NodeRow,
  shown: {
    readonly bootToken: string | undefined;
    readonly isKnown?: boolean;
    readonly attestation: Omit<BootAttestation, 'at'>;
  },
): Promise<void> {
  const session = await findAgentSession(context.db, node.uuid);
  if (!session || !(shown.isKnown || hasBootProof(context.secrets, session, shown.bootToken))) return;
  await noteAttestation(context.db, session, { ...shown.attestation, at: context.clock.now().toISOString() });
  context.nudge(node.uuid, 'agent');
}
