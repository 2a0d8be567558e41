import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsConfig } from '#conductor/auth/auth-settings.ts';
import { readPrivateFile } from '#conductor/kernel/private-file.ts';
import { unreadable, watchFiles } from '#conductor/kernel/watched-file.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

export interface TlsCertificate {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: 'TLSv1.2';
}

/** The API's certificate, which is renewed while the conductor runs. */
export interface TlsFiles {
  current(): TlsCertificate;
  onChange(listener: (certificate: TlsCertificate) => void): void;
  close(): void;
}

/**
 * A new pair counts once both files are there and belong together; until then the old one does.
 * @throws AppError `invalid_argument` naming the file that can't be used.
 */
export async function openTlsFiles(
  { certFile, keyFile }: TlsConfig,
  options: { readonly log: Log; readonly everyMs?: number },
): Promise<TlsFiles> {
  const read = async (): Promise<TlsCertificate> => {
    const cert = await readFile(certFile, 'utf8').catch(unreadable('BATON_TLS_CERT_FILE', certFile));
    const key = await readPrivateFile(keyFile).catch(unreadable('BATON_TLS_KEY_FILE', keyFile));
    const certificate = { cert, key, minVersion: 'TLSv1.2' } as const;
    try {
      createSecureContext(certificate);
    } catch (cause) {
      throw new AppError(
        'invalid_argument',
        `BATON_TLS_CERT_FILE: ${certFile} and ${keyFile} are not a matching pair in PEM`,
        {
          cause,
        },
      );
    }
    return certificate;
  };
  const listeners: ((certificate: TlsCertificate) => void)[] = [];
  const files = await watchFiles([certFile, keyFile], read, {
    ...options,
    onChange: (certificate) => listeners.forEach((listener) => listener(certificate)),
  });
  return { ...files, onChange: (listener) => listeners.push(listener) };
}
