import { readBanks, selectSha256 } from '#agent/tpm/capabilities.ts';
import type { TpmKey } from '#agent/tpm/make-key.ts';
import { readAnswer } from '#agent/tpm/read-answer.ts';
import type { Tpm } from '#agent/tpm/tpm.ts';
import { handles } from '#agent/tpm/tpm-command.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { algorithms } from '#shared/tpm/algorithms.ts';
import { numbers, sized } from '#shared/tpm/write-fields.ts';

export interface Quote {
  /** `TPMS_ATTEST`, as signed. */
  readonly quote: Buffer;
  /** `TPMT_SIGNATURE`. */
  readonly signature: Buffer;
}

/** Has the TPM sign its SHA-256 PCRs with a nonce of at most 32 bytes. @throws AppError as `execute` does */
export async function makeQuote(tpm: Tpm, key: TpmKey, nonce: Buffer, pcrs: readonly number[]): Promise<Quote> {
  const { parameters } = await tpm.execute({
    name: 'TPM2_Quote',
    handles: [key.handle],
    sessions: [handles.password],
    parameters: [sized(nonce), numbers([algorithms.none, 2]), selectSha256(pcrs)], // none: the key's own scheme
  });
  const answer = readAnswer('the answer to TPM2_Quote', parameters);
  return { quote: answer.sized(), signature: answer.rest() };
}

/** Reads SHA-256 PCRs: hex by number. @throws AppError `agent_error` when the TPM leaves one out; and as `execute` does */
export async function readPcrs(tpm: Tpm, pcrs: readonly number[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  let wanted = [...pcrs];
  while (wanted.length > 0) {
    const { parameters } = await tpm.execute({ name: 'TPM2_PCR_Read', parameters: [selectSha256(wanted)] });
    const answer = readAnswer('the answer to TPM2_PCR_Read', parameters);
    answer.u32(); // the counter of changes
    const read = readBanks(answer).get(algorithms.sha256);
    const count = answer.u32();
    if (
      read === undefined ||
      read.size === 0 ||
      count !== read.size ||
      [...read].some((pcr) => !wanted.includes(pcr))
    ) {
      throw new AppError(
        'agent_error',
        `the TPM was asked for PCRs ${wanted.join(', ')}, and answers ${count} values for another list`,
      );
    }
    for (const pcr of read) values[pcr] = answer.sized().toString('hex');
    wanted = wanted.filter((pcr) => !read.has(pcr));
  }
  return values;
}
