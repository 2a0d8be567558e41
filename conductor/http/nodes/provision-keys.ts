import { requireVersion } from '#conductor/http/routing/versions.ts';
import { type ProvisionVerb, provisionVerbs } from '#conductor/model/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Keys of a request that go with some verbs only; a plan has some of them. */
interface ProvisionKeys {
  readonly deploy_steps?: unknown;
  readonly configdrive?: unknown;
  readonly clean_steps?: unknown;
  readonly service_steps?: unknown;
  readonly runbook?: unknown;
  readonly rescue_password?: unknown;
  readonly disable_ramdisk?: unknown;
  readonly wipe?: unknown;
  readonly plan_hash?: unknown;
}

/** Keys of the request that not every version has, and the verbs that they go with (ironic-api.md §3.8). */
const provisionKeys: Readonly<
  Partial<Record<keyof ProvisionKeys, { since: number; verbs: readonly ProvisionVerb[] }>>
> = {
  deploy_steps: { since: 69, verbs: ['active', 'deploy', 'rebuild'] },
  configdrive: { since: 1, verbs: ['active', 'deploy', 'rebuild'] },
  clean_steps: { since: 15, verbs: ['clean'] },
  service_steps: { since: 87, verbs: ['service'] },
  runbook: { since: 92, verbs: ['clean', 'service'] },
  rescue_password: { since: 38, verbs: ['rescue'] },
  disable_ramdisk: { since: 70, verbs: ['clean', 'service'] },
  wipe: { since: 1, verbs: ['deleted', 'undeploy', 'provide'] },
  plan_hash: { since: 1, verbs: ['active', 'deploy', 'rebuild', 'clean', 'service', 'provide'] },
};
/** Verbs that mean nothing without more. */
const neededKeys: Readonly<Partial<Record<ProvisionVerb, keyof ProvisionKeys>>> = {
  clean: 'clean_steps',
  service: 'service_steps',
  rescue: 'rescue_password',
};

/**
 * Refuses keys of a provision request, or of its plan, that do not go with the verb.
 * @throws AppError `invalid_argument`, `not_acceptable`, `not_supported` naming the key.
 */
export function checkProvisionKeys(body: ProvisionKeys, verb: ProvisionVerb, version: number): void {
  requireVersion(version, provisionVerbs[verb].since, `target '${verb}'`);
  for (const [key, rule] of Object.entries(provisionKeys)) {
    const value = body[key as keyof ProvisionKeys];
    if (value === undefined || value === null) continue;
    requireVersion(version, rule.since, `'${key}'`);
    if (!rule.verbs.includes(verb)) {
      throw new AppError(
        'invalid_argument',
        `${key}: it is only possible with target ${rule.verbs.join(', ')}, not with '${verb}'.`,
      );
    }
  }
  if (typeof body.disable_ramdisk === 'boolean' && verb === 'service')
    requireVersion(version, 108, "'disable_ramdisk' for target 'service'");
  if (typeof body.configdrive === 'object' && body.configdrive)
    requireVersion(version, 56, "'configdrive' as an object");
  if (body.configdrive && verb === 'rebuild') requireVersion(version, 35, "'configdrive' for target 'rebuild'");
  const needed = neededKeys[verb];
  if (needed && !body[needed] && !body.runbook) {
    throw new AppError('invalid_argument', `${needed}: it must be given with target '${verb}'.`);
  }
}
