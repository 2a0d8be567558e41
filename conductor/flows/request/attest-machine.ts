import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { findAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { AgentLookup } from '#conductor/api/node-parts.ts';
import { predictMedium } from '#conductor/boot/boot-medium.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { listServedParams } from '#conductor/flows/network/boot-answers.ts';
import { findBootingNode, type LookupRequest, lookupNode } from '#conductor/flows/request/lookup-node.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type BootFacts, describeDistrust, judgeBoot } from '#conductor/model/tpm/judge-boot.ts';
import { makeCredential } from '#conductor/model/tpm/make-credential.ts';
import { summariseBoot } from '#conductor/model/tpm/measured-boot.ts';
import { readAttestationKey, readEndorsementKey } from '#conductor/model/tpm/public-area.ts';
import { differingPcrs, readEventLog } from '#conductor/model/tpm/read-event-log.ts';
import { type PcrValues, verifyQuote } from '#conductor/model/tpm/verify-quote.ts';
import { noteRefusal } from '#conductor/nodes/boot/note-refusal.ts';
import { addStrangersHistory } from '#conductor/nodes/node-history.ts';
import { bootsByHttp, bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { findNodeTpm, recordAttestation } from '#conductor/nodes/tpm/tpm-store.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';
import {
  type AttestationAnswer,
  type AttestationChallenge,
  type AttestationRequest,
  type AttestedLookup,
  proveCredential,
  quotedPcrs,
  sealLookup,
} from '#shared/wire/attestation.ts';

type Context = Pick<EngineContext, 'db' | 'config' | 'clock' | 'secrets' | 'log' | 'nudge'>;
type Asking = Pick<LookupRequest, 'bootToken' | 'version'> & { readonly addresses: readonly string[] };

/** Everything that the answer is judged by; it goes to the machine and back, sealed, so that no table grows by asking. */
const Challenge = z.strictObject({
  nodeUuid: z.string(),
  ekPublic: z.string(),
  ekCertificate: z.string().optional(),
  akPublic: z.string(),
  nonce: z.string(),
  secret: z.string(),
  at: z.number(),
});
type Challenge = z.infer<typeof Challenge>;

const challengePlace = 'attestation challenge';
/** A TPM of the slow kind takes some seconds; a machine that is late asks again. */
const challengeMs = 5 * 60_000;

/**
 * Asks a machine to prove its TPM: the credential opens nowhere but in the TPM with that endorsement key, beside that
 * attestation key.
 * @throws AppError `not_found`, as of `lookupNode`, and where nothing is attested; `invalid_argument`: a key of another kind
 */
export async function challengeMachine(
  context: Context,
  request: Omit<AttestationRequest, 'addresses'>,
  addresses: readonly string[],
): Promise<AttestationChallenge> {
  if (context.config.attestation === 'off')
    throw new AppError('not_found', 'No boots are attested here (BATON_ATTESTATION).');
  const node = await findBootingNode(context, { addresses });
  const endorsementKey = readEndorsementKey(Buffer.from(request.ek_public, 'base64'));
  const attestationKey = readAttestationKey(Buffer.from(request.ak_public, 'base64'));
  const [nonce, secret] = [randomBytes(32).toString('hex'), randomBytes(32)];
  const challenge: Challenge = {
    nodeUuid: node.uuid,
    ekPublic: request.ek_public,
    ekCertificate: request.ek_certificate,
    akPublic: request.ak_public,
    nonce,
    secret: secret.toString('base64'),
    at: context.clock.now().getTime(),
  };
  return {
    challenge: context.secrets.seal(JSON.stringify(challenge), challengePlace),
    nonce,
    credential: makeCredential(endorsementKey, attestationKey.name, secret).toString('base64'),
  };
}

/**
 * Takes the proof, judges the boot, and answers the lookup for that TPM alone.
 * @throws AppError `invalid_argument` with what does not fit; `forbidden`: the TPM has not opened the credential;
 * `not_found`, as of `lookupNode`
 */
export async function attestMachine(
  context: Context,
  answer: AttestationAnswer,
  asking: Omit<Asking, 'addresses'>,
): Promise<AttestedLookup> {
  const challenge = openChallenge(context, answer.challenge);
  const quote = Buffer.from(answer.quote, 'base64');
  const secret = Buffer.from(challenge.secret, 'base64');
  if (!isSameSecret(answer.proof, proveCredential(secret, quote)))
    throw new AppError(
      'forbidden',
      'the machine has not opened the credential: its TPM holds other keys than it has shown',
    );
  const pcrValues: PcrValues = new Map(
    Object.entries(answer.pcr_values).map(([pcr, value]) => [Number(pcr), value] as const),
  );
  verifyQuote(
    { quote, signature: Buffer.from(answer.signature, 'base64'), pcrValues },
    readAttestationKey(Buffer.from(challenge.akPublic, 'base64')),
    { nonce: Buffer.from(challenge.nonce, 'hex'), pcrs: quotedPcrs },
  );
  const node = await getNode(context.db, challenge.nodeUuid);
  // before the lookup, which may begin the boot's session
  const facts = await gatherFacts(context, node, { challenge, answer, pcrValues });
  const judged = judgeBoot(facts);
  const isRequired = context.config.attestation === 'require';
  const find = (): Promise<AgentLookup> =>
    lookupNode(context, { addresses: [], nodeUuid: node.uuid, isTrusted: judged.verdict === 'trusted', ...asking });
  // a stranger without the boot's token writes nothing down; where no token is given, the verdict itself is to be kept
  const before = isRequired ? undefined : await find();
  const { verdict } = judged;
  await keepVerdict(context, node, facts, { challenge, mustBeTrusted: isRequired, ...judged });
  if (isRequired && verdict !== 'trusted') {
    const refusal = new AppError('forbidden', describeDistrust(judged));
    await noteRefusal(context, { nodeUuid: node.uuid }, 'attestation', refusal);
    context.nudge(node.uuid, 'agent');
    throw refusal;
  }
  const lookup = before ?? (await find());
  return { verdict, lookup: sealLookup(lookup, secret, challenge.nonce).toString('base64') };
}

function openChallenge({ secrets, clock }: Pick<Context, 'secrets' | 'clock'>, sealed: string): Challenge {
  const challenge = Challenge.parse(JSON.parse(secrets.open(sealed, challengePlace)));
  const age = clock.now().getTime() - challenge.at;
  if (age > challengeMs)
    throw new AppError('invalid_argument', `challenge: it is ${Math.round(age / 1000)} s old; ask for another one`);
  return challenge;
}

async function gatherFacts(
  context: Context,
  node: NodeRow,
  from: { readonly challenge: Challenge; readonly answer: AttestationAnswer; readonly pcrValues: PcrValues },
): Promise<BootFacts> {
  return {
    ekPublic: from.challenge.ekPublic,
    known: await findNodeTpm(context.db, node.uuid),
    boot: readBoot(from.answer, from.pcrValues),
    predicted: await predictBoot(context, node),
  };
}

/** Reads the log, which nobody has signed: it counts only if it gives the values that were quoted. */
function readBoot(answer: AttestationAnswer, pcrValues: PcrValues): BootFacts['boot'] {
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

async function predictBoot(context: Context, node: NodeRow): Promise<BootFacts['predicted']> {
  if (!bootsFromVirtualMedia(node) && !bootsByHttp(node))
    return {
      problem: 'the ramdisk is loaded by iPXE, which does not measure it: boot it by virtual media or UEFI HTTP',
    };
  const session = await findAgentSession(context.db, node.uuid);
  if (!session) return { problem: 'the boot has no token yet, which its boot medium has' };
  try {
    const predicted = await predictMedium(
      context.config.ramdiskDirectory,
      await listServedParams(context, node, session),
    );
    return predicted ?? { problem: 'the boot medium was made by an older release, or kernel_append_params has quotes' };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { problem: errorChain(error) };
  }
}

async function keepVerdict(
  { db, config, log }: Context,
  node: NodeRow,
  facts: BootFacts,
  {
    challenge,
    mustBeTrusted,
    verdict,
    reasons,
  }: ReturnType<typeof judgeBoot> & { readonly challenge: Challenge; readonly mustBeTrusted: boolean },
): Promise<void> {
  const { ekPublic, ekCertificate } = challenge;
  const boot = 'problem' in facts.boot ? undefined : facts.boot.measured;
  await recordAttestation(db, node.uuid, { ekPublic, ekCertificate, boot, verdict, reasons }, { mustBeTrusted });
  const because = reasons.length === 0 ? '' : `: ${reasons.join('; ')}`;
  log[verdict === 'changed' ? 'warn' : 'info']({ node: node.uuid, verdict, reasons }, 'boot attested by TPM');
  await addStrangersHistory(db, {
    nodeUuid: node.uuid,
    severity: verdict === 'changed' ? 'ERROR' : 'INFO',
    eventType: 'attestation',
    event: `the TPM's statement on this boot: ${verdict}${because}`,
    conductor: config.conductorName,
  });
}
