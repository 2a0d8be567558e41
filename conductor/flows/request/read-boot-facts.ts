import type { EngineContext } from '#conductor/flows/context.ts';
import { describeUnprovable, readServedBoot } from '#conductor/flows/network/served-boot.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootFacts } from '#conductor/model/tpm/judge-boot.ts';
import { summariseBoot } from '#conductor/model/tpm/measured-boot.ts';
import { differingPcrs, readEventLog } from '#conductor/model/tpm/read-event-log.ts';
import type { PcrValues } from '#conductor/model/tpm/verify-quote.ts';
import { checkTpm } from '#conductor/nodes/tpm/check-tpm.ts';
import { findNodeTpm } from '#conductor/nodes/tpm/tpm-store.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { AttestationAnswer } from '#shared/wire/attestation.ts';

/** Reads everything that a machine's boot is judged by. */
export async function readBootFacts(
  context: Pick<EngineContext, 'db' | 'config' | 'secrets' | 'clock'>,
  node: NodeRow,
  from: {
    readonly ekPublic: string;
    readonly ekCertificate: string | undefined;
    readonly session: AgentSessionRow | undefined;
    readonly answer: Pick<AttestationAnswer, 'event_log' | 'event_log_problem'>;
    readonly pcrValues: PcrValues;
  },
): Promise<BootFacts> {
  const known = await findNodeTpm(context.db, node.uuid);
  return {
    ekPublic: from.ekPublic,
    known,
    stranger: known && known.acceptedBy !== null ? undefined : await describeStranger(context, from),
    boot: readBoot(from.answer, from.pcrValues),
    predicted: from.session
      ? (await readServedBoot(context, node, from.session)).predicted
      : {
          problem: (await describeUnprovable(context, node)) ?? 'the boot has no token yet, which its boot medium has',
        },
  };
}

/** Describes a TPM that no vendor vouches for, where vendors' CAs are given. */
async function describeStranger(
  context: Pick<EngineContext, 'config' | 'clock'>,
  { ekPublic, ekCertificate }: { readonly ekPublic: string; readonly ekCertificate: string | undefined },
): Promise<string | undefined> {
  if (context.config.tpmCaDirectory === undefined) return undefined;
  const { state, detail } = await checkTpm(context, ekPublic, ekCertificate ?? null);
  return state === 'certified' || state === 'expired' ? undefined : `no vendor vouches for its TPM: ${detail}`;
}

/** Reads the log, which nobody has signed: it counts only if it gives the values that were quoted. */
function readBoot(
  answer: Pick<AttestationAnswer, 'event_log' | 'event_log_problem'>,
  pcrValues: PcrValues,
): BootFacts['boot'] {
  if (answer.event_log === undefined)
    return { problem: `its firmware has left no event log: ${answer.event_log_problem ?? 'no reason was sent'}` };
  try {
    const log = readEventLog(Buffer.from(answer.event_log, 'base64'));
    const differing = differingPcrs(log, pcrValues);
    if (differing.length > 0)
      return { problem: `the event log does not add up to the quote (PCR ${differing.join(', ')})` };
    return { events: log.events, measured: summariseBoot(log, pcrValues) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { problem: errorChain(error) };
  }
}
