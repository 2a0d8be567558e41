import { z } from 'zod';
import {
  type DecommissionTimeouts,
  decommissionTimeouts,
  drainGracePeriod,
} from '#conductor/model/site/cluster-timeouts.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nearestWord } from '#shared/words.ts';

export type ActionName =
  | 'deploy_site'
  | 'update_site'
  | 'redeploy_server'
  | 'teardown_server'
  | 'relabel_nodes'
  | 'verify_site';

export interface ActionClusters {
  readonly kubernetes: boolean;
  readonly etcd: boolean;
}

/** `true`, or the text that `--param` sends. */
const flag = z
  .union([z.boolean(), z.enum(['true', 'false'])], { error: 'must be true or false' })
  .transform((value) => value === true || value === 'true');

/** A list, or names with commas between them, as `--param` sends them: Shipyard's API takes one and its worker the other. */
const nodeNames = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(','))], { error: 'must be a list of names' })
  .transform((names) => [...new Set(names.map((name) => name.trim()))])
  .refine((names) => names.length > 0 && !names.includes(''), { error: 'must be a list of names, at least one' });

const largestSeconds = 604_800;
/**
 * Reads seconds as the synchronous endpoints do (`http/sites/kubernetes-teardown.routes.ts`): a number, or the text that
 * `--param` sends.
 */
function seconds(least: 0 | 1) {
  const error = `must be a whole number of seconds, ${least} to ${largestSeconds}`;
  const text = z.string().regex(/^\d{1,6}$/, error);
  return z
    .union([z.number(), text.transform(Number)], { error })
    .refine((value) => Number.isInteger(value) && value >= least && value <= largestSeconds, { error });
}

const revisionRoles = ['committed', 'successful-site-action', 'last-site-action'] as const;
/** The revision whose documents an action works from (seed 001, `target-revision`). */
export type TargetRevision = (typeof revisionRoles)[number];

/** All parameters of actions; `action-table.ts` says which one has which. */
const parameters = {
  'allow-intermediate-commits': flag.optional(),
  'clear-labels-timeout': seconds(1).optional(),
  'continue-on-fail': flag.optional(),
  'drain-node-grace-period': seconds(0).optional(),
  'drain-node-timeout': seconds(1).optional(),
  dry_run: flag.optional(),
  force: flag.optional(),
  'etcd-ready-timeout': seconds(1).optional(),
  'not-in-cluster-ok': flag.optional(),
  'preserve-local-storage': flag.optional(),
  'remove-etcd-timeout': seconds(1).optional(),
  'remove-node': flag.optional(),
  target_nodes: nodeNames.optional(),
  'target-revision': z.enum(revisionRoles, { error: `must be one of ${revisionRoles.join(', ')}` }).optional(),
} as const;
export type ParameterName = keyof typeof parameters;
const Parameters = z.object(parameters);
export type ActionParameters = Readonly<z.output<typeof Parameters>>;

/** Names that older clients use. */
const synonyms: Readonly<Record<string, ParameterName>> = { 'server-name': 'target_nodes' };

/** @throws AppError `invalid_argument` naming the parameter, and those that the action has. */
export function parseParameters(
  action: { readonly name: string; readonly legal: readonly ParameterName[]; readonly required: readonly string[] },
  raw: Readonly<Record<string, unknown>>,
): ActionParameters {
  const { name, legal, required } = action;
  const given = withoutSynonyms(legal, raw);
  const hint = `${name} has ${legal.join(', ')}`;
  for (const key of Object.keys(given)) {
    if (legal.some((each) => each === key)) continue;
    const meant = nearestWord(key, legal);
    const asked = meant === undefined ? '' : `did you mean ${meant}? `;
    throw new AppError('invalid_argument', `parameters.${key}: ${name} has no such parameter; ${asked}${hint}`);
  }
  const missing = required.find((key) => given[key] === undefined);
  if (missing) throw new AppError('invalid_argument', `parameters.${missing}: ${name} needs it`);
  const parsed = Parameters.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new AppError(
      'invalid_argument',
      `parameters.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is wrong'}`,
    );
  }
  // when only one is given, the other may come from the site
  if (given['drain-node-timeout'] !== undefined && given['drain-node-grace-period'] !== undefined) {
    requireDrainTimes(parsed.data);
  }
  return parsed.data;
}

/** @throws AppError `invalid_argument` unless pods get less time than their drain */
export function requireDrainTimes(given: ActionParameters): void {
  const { drainTimeout, drainGracePeriod: gracePeriod } = timeoutsOf(given);
  if (gracePeriod < drainTimeout) return;
  throw new AppError(
    'invalid_argument',
    `parameters.drain-node-grace-period: it is ${gracePeriod} s, and must be less than drain-node-timeout, which is ` +
      `${drainTimeout} s: pods that take all of it could not be waited for`,
  );
}

function withoutSynonyms(
  legal: readonly ParameterName[],
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const renamed = Object.entries(given).map(([key, value]): [string, unknown] => {
    const meant = Object.hasOwn(synonyms, key) ? synonyms[key] : undefined;
    if (meant === undefined || !legal.includes(meant)) return [key, value];
    if (given[meant] === undefined) return [meant, value];
    throw new AppError('invalid_argument', `parameters.${key}: it means the same as ${meant}; give one of the two`);
  });
  return Object.fromEntries(renamed);
}

/** Defaults that a site's documents give its actions: `kubernetes_provisioner` of its DeploymentConfiguration. */
export type SiteDefaults = Pick<
  ActionParameters,
  | 'drain-node-timeout'
  | 'drain-node-grace-period'
  | 'clear-labels-timeout'
  | 'remove-etcd-timeout'
  | 'etcd-ready-timeout'
>;

/** Returns the seconds for each step of a decommission, with the seed's defaults. Pure. */
export function timeoutsOf(given: ActionParameters): DecommissionTimeouts {
  const { clearLabelsTimeout, removeEtcdTimeout, etcdReadyTimeout } = decommissionTimeouts;
  const drainTimeout = given['drain-node-timeout'] ?? decommissionTimeouts.drainTimeout;
  return {
    drainTimeout,
    drainGracePeriod: given['drain-node-grace-period'] ?? drainGracePeriod(drainTimeout),
    clearLabelsTimeout: given['clear-labels-timeout'] ?? clearLabelsTimeout,
    removeEtcdTimeout: given['remove-etcd-timeout'] ?? removeEtcdTimeout,
    etcdReadyTimeout: given['etcd-ready-timeout'] ?? etcdReadyTimeout,
  };
}
