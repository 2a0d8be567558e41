import { findAgentSession, noteDistrust } from '#conductor/agents/agent-session-store.ts';
import { hasBootProof } from '#conductor/agents/boot-proof.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootAttestation } from '#conductor/model/tpm/boot-attestation.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';

/**
 * Ends the wait for a machine that has to prove itself and does not: the step that waits fails with the verdict. Only the
 * machine that was booted does so: by the TPM that the node is known by, or by the proof on its virtual medium. Over the
 * network any stranger loads what the machine loads, so that nothing in it counts. A boot that is trusted stays so.
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
  const isShown = bootsFromVirtualMedia(node) && hasBootProof(context.secrets, session, shown.bootToken);
  if (!session || !(shown.isKnown || isShown)) return;
  const attestation = { ...shown.attestation, at: context.clock.now().toISOString() };
  if (await noteDistrust(context.db, session, attestation)) context.nudge(node.uuid, 'agent');
}
