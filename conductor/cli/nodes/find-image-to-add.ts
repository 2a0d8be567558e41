import { z } from 'zod';
import type { RegistryPlace } from '#conductor/cli/nodes/open-image.ts';
import type { CommandContext } from '#conductor/cli/shell/command.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import type { RegistryMeans } from '#shared/oci/ask-registry.ts';
import { parseOciReference } from '#shared/oci/reference.ts';
import { readRegistryConfig, registryEnvironment, registryProblems } from '#shared/oci/registry-settings.ts';
import { resolveMirrored } from '#shared/oci/resolve-mirrored.ts';
import { findStoredLogin } from '#shared/oci/stored-login.ts';

/** Time that the registry may take to say which file it is, and that a busy one is waited for. Milliseconds. */
const resolveMs = 180_000;
const patienceMs = 120_000;

/**
 * Finds the disk image that `oci://…` names, by the settings that the conductor has for registries.
 * @param arch chooses from an index
 * @throws AppError as `resolveImage`, `invalid_argument` for settings and logins that can't be used.
 */
export async function findImageToAdd(
  source: string,
  arch: string | undefined,
  { clock, registryEnvironment: given = {} }: Pick<CommandContext, 'clock' | 'registryEnvironment'>,
): Promise<RegistryPlace> {
  const environment = z.object(registryEnvironment).parse({
    BATON_OCI_AUTH_FILE: given['BATON_OCI_AUTH_FILE'] || undefined,
    BATON_OCI_PLAIN_HTTP: given['BATON_OCI_PLAIN_HTTP'] || undefined,
    BATON_OCI_MIRRORS: given['BATON_OCI_MIRRORS'] || undefined,
  });
  const [problem] = registryProblems(environment);
  if (problem !== undefined) throw usageError(problem);
  const config = readRegistryConfig(environment);
  const means: RegistryMeans = {
    clock,
    signal: AbortSignal.timeout(resolveMs),
    checkUrl: () => undefined, // what the caller may reach, this may
    plainHttp: config.plainHttp,
    loginFor: (registry) => findStoredLogin(config, registry),
    loginAdvice: 'the file of BATON_OCI_AUTH_FILE has it',
    archField: '--arch',
    patienceMs,
  };
  return resolveMirrored(parseOciReference(source, 'the image'), arch, means, config.mirrors);
}
