import { type ByteReader, readBytes } from '#shared/tpm/byte-reader.ts';

/** Opens what a TPM has answered; each read throws AppError `agent_error` where it ends too soon. @param name for errors: "the answer to TPM2_Quote" */
export function readAnswer(name: string, bytes: Buffer): ByteReader {
  return readBytes(bytes, name, {
    code: 'agent_error',
    cut: (_, length) => `ends after ${length} bytes, amid a field`,
  });
}
