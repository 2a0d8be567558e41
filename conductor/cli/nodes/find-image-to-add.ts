import { z } from 'zod';
import type { RegistryPlace } from '#conductor/cli/nodes/open-image.ts';
import type { CommandContext } from '#conductor/cli/shell/command.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import type { RegistryMeans } from '#shared/oci/ask-registry.ts';
import { parseOciReference } from '#shared/oci/reference.ts';
import { readRegistryConfig, registryEnvironment, registryProblems } from '#shared/oci/registry-settings.ts';
import { resolveMirrored } from '#shared/oci/resolve-mirrored.ts';
import { findStoredLogin } from '#shared/oci/stored-login.ts';

/** Time in which the registry must have named the file. Milliseconds. */
const resolveMs = 180_000;
/** Longest wait for a busy registry, within that time. Milliseconds. */
const patienceMs = 120_000;

/**
 * Finds the disk image that `oci://…` names, by the settings that the conductor has for registries.
 * @param arch architecture that is chosen from an index
 * @throws AppError as `resolveImage`, `invalid_argument` for settings and logins that can't be used.
 */
export async function findImageToAdd(
  source: string,
  arch: string | undefined,
  { clock, registryEnvironment: given = {} }: Pick<CommandContext, 'clock' | 'registryEnvironment'>,
): Promise<RegistryPlace> {
  // an empty setting is none, as for the conductor
  const set = Object.entries(given).filter(([, value]) => value !== '');
  const environment = z.object(registryEnvironment).parse(Object.fromEntries(set));
  const [problem] = registryProblems(environment);
  if (problem !== undefined) throw usageError(problem);
  const config = readRegistryConfig(environment);
  const means: RegistryMeans = {
    clock,
    signal: AbortSignal.timeout(resolveMs),
    checkUrl: () => undefined, // it runs with the rights of its caller
    plainHttp: config.plainHttp,
    loginFor: (registry) => findStoredLogin(config, registry),
    loginAdvice: 'the file of BATON_OCI_AUTH_FILE has it',
    archField: '--arch',
    patienceMs,
  };
  return resolveMirrored(parseOciReference(source, 'the image'), arch, means, config.mirrors);
}
