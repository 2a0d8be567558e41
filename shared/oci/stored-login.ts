import { AppError } from '#shared/errors/app-error.ts';
import { findPullSecret, type RegistryLogin } from '#shared/oci/pull-secret.ts';
import type { RegistryConfig } from '#shared/oci/registry-settings.ts';
import { readPrivateFile } from '#shared/private-file.ts';

/**
 * Finds the login that the file of `BATON_OCI_AUTH_FILE` has for a registry; `undefined` = none. Read at each use.
 * @throws AppError `invalid_argument` for a file that can't be read, is open to others, or has another form.
 */
export async function findStoredLogin(
  { authFile }: Pick<RegistryConfig, 'authFile'>,
  registry: string,
): Promise<RegistryLogin | undefined> {
  if (authFile === undefined) return undefined;
  const text = await readPrivateFile(authFile).catch((cause: unknown) => {
    throw new AppError('invalid_argument', `BATON_OCI_AUTH_FILE: read ${authFile}`, { cause });
  });
  return findPullSecret(text, registry, `BATON_OCI_AUTH_FILE (${authFile})`);
}
