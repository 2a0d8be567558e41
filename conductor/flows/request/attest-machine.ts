import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { findAgentSession, noteAttestation } from '#conductor/agents/agent-session-store.ts';
import type { AgentLookup } from '#conductor/api/node-parts.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { failBoot } from '#conductor/flows/request/fail-boot.ts';
import { findBootingNode, type LookupRequest, lookupNode } from '#conductor/flows/request/lookup-node.ts';
import { readBootFacts } from '#conductor/flows/request/read-boot-facts.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { attestationOf } from '#conductor/model/tpm/attestation-mode.ts';
import type { BootAttestation } from '#conductor/model/tpm/boot-attestation.ts';
import { type BootFacts, describeDistrust, judgeBoot } from '#conductor/model/tpm/judge-boot.ts';
import { makeCredential } from '#conductor/model/tpm/make-credential.ts';
import { readAttestationKey, readEndorsementKey, tpmFingerprint } from '#conductor/model/tpm/public-area.ts';
import { type PcrValues, verifyQuote } from '#conductor/model/tpm/verify-quote.ts';
import { noteRefusal } from '#conductor/nodes/boot/note-refusal.ts';
import { addStrangersHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { attestationEvent } from '#conductor/nodes/tpm/attestation-event.ts';
import { recordAttestation } from '#conductor/nodes/tpm/tpm-store.ts';
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
  akUnique: z.string().optional(),
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
  asking: Pick<Asking, 'addresses' | 'bootToken'>,
): Promise<AttestationChallenge> {
  const node = await findBootingNode(context, { addresses: asking.addresses });
  if (attestationOf(context.config, node) === 'off')
    throw new AppError('not_found', 'No boots are attested here (BATON_ATTESTATION, driver_info.attestation).');
  const [nonce, secret] = [randomBytes(32).toString('hex'), randomBytes(32)];
  const challenge: Challenge = {
    nodeUuid: node.uuid,
    ekPublic: request.ek_public,
    ekCertificate: request.ek_certificate,
    akPublic: request.ak_public,
    akUnique: request.ak_unique,
    nonce,
    secret: secret.toString('base64'),
    at: context.clock.now().getTime(),
  };
  const credential = await endFlowIfRefused(context, node, asking.bootToken, () => {
    const endorsementKey = readEndorsementKey(Buffer.from(request.ek_public, 'base64'));
    const attestationKey = readAttestationKey(Buffer.from(request.ak_public, 'base64'));
    return makeCredential(endorsementKey, attestationKey.name, secret);
  });
  return {
    challenge: context.secrets.seal(JSON.stringify(challenge), challengePlace),
    nonce,
    credential: credential.toString('base64'),
  };
}

/** Has a refusal of the proof end the flow as well, where it is the booted machine that is refused. */
async function endFlowIfRefused<T>(
  context: Context,
  node: NodeRow,
  bootToken: string | undefined,
  check: () => T,
): Promise<T> {
  try {
    return check();
  } catch (error) {
    if (error instanceof AppError && attestationOf(context.config, node) === 'require') {
      const reasons = [`its proof is refused: ${errorChain(error)}`];
      await failBoot(context, node, { bootToken, attestation: { verdict: 'unknown', reasons } });
    }
    throw error;
  }
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
  const secret = Buffer.from(challenge.secret, 'base64');
  const node = await getNode(context.db, challenge.nodeUuid);
  const pcrValues: PcrValues = new Map(
    Object.entries(answer.pcr_values).map(([pcr, value]) => [Number(pcr), value] as const),
  );
  await endFlowIfRefused(context, node, asking.bootToken, () => verifyProof(answer, challenge, pcrValues));
  // before the lookup, which may begin the boot's session
  const booted = await findAgentSession(context.db, node.uuid);
  const { ekPublic, ekCertificate } = challenge;
  const facts = await readBootFacts(context, node, { ekPublic, ekCertificate, session: booted, answer, pcrValues });
  const judged = judgeBoot(facts);
  const isRequired = attestationOf(context.config, node) === 'require';
  const find = (): Promise<AgentLookup> =>
    lookupNode(context, { addresses: [], nodeUuid: node.uuid, isTrusted: judged.verdict === 'trusted', ...asking });
  // a stranger without the boot's token writes nothing down; where no token is given, the verdict itself is to be kept
  const before = isRequired ? undefined : await find();
  const { verdict } = judged;
  await keepVerdict(context, node, facts, { challenge, mustBeTrusted: isRequired, ...judged });
  const attestation = { ...judged, pcrs: answer.pcr_values, keys: keysOf(challenge) };
  if (isRequired && verdict !== 'trusted') {
    const refusal = new AppError('forbidden', describeDistrust(judged));
    await noteRefusal(context, { nodeUuid: node.uuid }, 'attestation', refusal);
    const isKnown = facts.known?.ekPublic === ekPublic;
    await failBoot(context, node, { bootToken: asking.bootToken, isKnown, attestation });
    throw refusal;
  }
  const lookup = before ?? (await find());
  const session = await findAgentSession(context.db, node.uuid);
  if (session) await noteAttestation(context.db, session, { ...attestation, at: context.clock.now().toISOString() });
  return { verdict, lookup: sealLookup(lookup, secret, challenge.nonce).toString('base64') };
}

function keysOf({ ekPublic, ekCertificate, akPublic }: Challenge): NonNullable<BootAttestation['keys']> {
  return { ekPublic, ...(ekCertificate === undefined ? {} : { ekCertificate }), akPublic };
}

/** @throws AppError `invalid_argument` with what does not fit; `forbidden`: the TPM has not opened the credential */
function verifyProof(answer: AttestationAnswer, challenge: Challenge, pcrValues: PcrValues): void {
  const quote = Buffer.from(answer.quote, 'base64');
  if (!isSameSecret(answer.proof, proveCredential(Buffer.from(challenge.secret, 'base64'), quote)))
    throw new AppError(
      'forbidden',
      'the machine has not opened the credential: its TPM holds other keys than it has shown',
    );
  verifyQuote(
    { quote, signature: Buffer.from(answer.signature, 'base64'), pcrValues },
    readAttestationKey(Buffer.from(challenge.akPublic, 'base64')),
    { nonce: Buffer.from(challenge.nonce, 'hex'), pcrs: quotedPcrs },
  );
}

function openChallenge({ secrets, clock }: Pick<Context, 'secrets' | 'clock'>, sealed: string): Challenge {
  const challenge = Challenge.parse(JSON.parse(secrets.open(sealed, challengePlace)));
  const age = clock.now().getTime() - challenge.at;
  if (age > challengeMs)
    throw new AppError('invalid_argument', `challenge: it is ${Math.round(age / 1000)} s old; ask for another one`);
  return challenge;
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
  const { ekPublic, ekCertificate, akPublic, akUnique } = challenge;
  const attestationKey = { akPublic, akUnique };
  const boot = 'problem' in facts.boot ? undefined : facts.boot.measured;
  log[verdict === 'changed' ? 'warn' : 'info']({ node: node.uuid, verdict, reasons }, 'boot attested by TPM');
  await db.transaction(async (tx) => {
    const attested = { ekPublic, ekCertificate, boot, attestationKey, verdict, reasons };
    const news = await recordAttestation(tx, node.uuid, attested, { mustBeTrusted });
    const before = news?.from == null || news.from === verdict ? '' : `, and was ${news.from}`;
    const because = reasons.length === 0 ? '' : `: ${reasons.join('; ')}`;
    await addStrangersHistory(tx, {
      nodeUuid: node.uuid,
      severity: verdict === 'changed' ? 'ERROR' : 'INFO',
      eventType: 'attestation',
      event: `the TPM's statement on this boot: ${verdict}${news?.another === true ? '' : before}${because}`,
      conductor: config.conductorName,
      ...(news && { notify: attestationEvent({ ...news, verdict, reasons, tpm: tpmFingerprint(ekPublic) }) }),
    });
  });
}
