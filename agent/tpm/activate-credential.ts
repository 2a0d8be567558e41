import { randomBytes } from 'node:crypto';
import type { TpmKey } from '#agent/tpm/make-key.ts';
import { readAnswer } from '#agent/tpm/read-answer.ts';
import type { Tpm } from '#agent/tpm/tpm.ts';
import { handles } from '#agent/tpm/tpm-command.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { algorithms } from '#shared/tpm/algorithms.ts';
import { numbers, sized } from '#shared/tpm/write-fields.ts';

const policySession = 0x01;

/**
 * Has the TPM open a credential: the secret that somebody has encrypted to its endorsement key together with the name of the
 * attestation key.
 * @param credential `TPM2B_ID_OBJECT`, then `TPM2B_ENCRYPTED_SECRET`
 * @throws AppError `agent_error`: it is for another TPM or another key, or is none; and as `execute` does
 */
export async function activateCredential(
  tpm: Tpm,
  keys: { readonly endorsement: TpmKey; readonly attestation: TpmKey },
  credential: Buffer,
): Promise<Buffer> {
  const source = readAnswer('the credential', credential);
  const parts = [sized(source.sized()), sized(source.sized())];
  source.end();
  const { parameters } = await tpm.execute({
    name: 'TPM2_ActivateCredential',
    handles: [keys.attestation.handle, keys.endorsement.handle],
    sessions: [handles.password, await startEndorsementSession(tpm)],
    parameters: parts,
  });
  return readAnswer('the answer to TPM2_ActivateCredential', parameters).sized();
}

/** Starts a session that satisfies the endorsement key's policy: it knows the hierarchy's password, which is empty. */
async function startEndorsementSession(tpm: Tpm): Promise<number> {
  const { handle } = await tpm.execute({
    name: 'TPM2_StartAuthSession',
    handles: [handles.none, handles.none],
    parameters: [
      sized(randomBytes(32)),
      sized(), // no salt
      numbers([policySession, 1], [algorithms.none, 2], [algorithms.sha256, 2]),
    ],
  });
  if (handle === undefined) throw new AppError('internal', 'TPM2_StartAuthSession has started no session');
  await tpm.execute({
    name: 'TPM2_PolicySecret',
    handles: [handles.endorsement, handle],
    sessions: [handles.password],
    // neither the TPM's nonce, nor a command, nor a reference of ours; without expiry
    parameters: [sized(), sized(), sized(), numbers([0, 4])],
  });
  return handle;
}
