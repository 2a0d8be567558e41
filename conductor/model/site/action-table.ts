import {
  type ActionName,
  type ActionParameters,
  type ParameterName,
  parseParameters,
  requireDrainTimes,
  type SiteDefaults,
  type TargetRevision,
} from '#conductor/model/site/action-parameters.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nearestWord } from '#shared/words.ts';

/** Names of the steps that actions are made of. */
export type ActionStepName =
  | 'preflight'
  | 'validate_site_design'
  | 'verify_site'
  | 'baremetal_nodes'
  | 'relabel_nodes'
  | 'final_report'
  | 'tag_revision';

interface ActionDefinition {
  /** Brings the site to what the documents say: guarded against intermediate commits, and tags the revision (seed 001). */
  readonly isTrueUp: boolean;
  readonly parameters: readonly ParameterName[];
  readonly required?: readonly ParameterName[];
  readonly steps: readonly ActionStepName[];
  /** Run after them, whatever has become of them. */
  readonly closing: readonly ActionStepName[];
  /**
   * The revision whose documents the action works from, unless `target-revision` says; absent = the committed ones,
   * always.
   */
  readonly revision?: TargetRevision;
  /** Takes its target nodes apart, one after another, and then has them deployed, or not. */
  readonly teardown?: 'then deploys' | 'then keeps';
  /**
   * The level of knowledge that a conductor needs to run it (`conductor-store.ts`); absent = what every release knows.
   */
  readonly needs?: number;
  /** `verify_site` asks each node, not only who could work on it, and changes none: it runs beside another action. */
  readonly looksOnly?: boolean;
}

const nodeSteps = ['preflight', 'validate_site_design', 'verify_site', 'baremetal_nodes'] as const;
const trueUpSteps = { steps: nodeSteps, closing: ['final_report', 'tag_revision'] } as const;

const teardownParameters = [
  'target_nodes',
  'preserve-local-storage',
  'target-revision',
  'not-in-cluster-ok',
  'force',
  'drain-node-timeout',
  'drain-node-grace-period',
  'clear-labels-timeout',
  'remove-etcd-timeout',
  'etcd-ready-timeout',
  'dry_run',
] as const satisfies ParameterName[];

/** THE table of site actions (airship.md §4.1, §4.5). */
export const actionTable: Readonly<Record<ActionName, ActionDefinition>> = {
  deploy_site: {
    isTrueUp: true,
    parameters: ['allow-intermediate-commits', 'continue-on-fail', 'dry_run'],
    ...trueUpSteps,
  },
  update_site: {
    isTrueUp: true,
    parameters: ['allow-intermediate-commits', 'continue-on-fail', 'dry_run'],
    ...trueUpSteps,
  },
  redeploy_server: {
    isTrueUp: true,
    parameters: ['allow-intermediate-commits', ...teardownParameters],
    required: ['target_nodes'],
    revision: 'successful-site-action',
    ...trueUpSteps,
    teardown: 'then deploys',
    needs: 1,
  },
  teardown_server: {
    isTrueUp: false,
    parameters: [...teardownParameters, 'remove-node'],
    required: ['target_nodes'],
    revision: 'committed',
    steps: nodeSteps,
    closing: ['final_report'],
    teardown: 'then keeps',
    needs: 1,
  },
  relabel_nodes: {
    isTrueUp: false,
    parameters: ['target_nodes'],
    required: ['target_nodes'],
    steps: ['preflight', 'validate_site_design', 'relabel_nodes'],
    closing: [],
  },
  verify_site: {
    isTrueUp: false,
    parameters: ['target_nodes'],
    steps: ['preflight', 'validate_site_design', 'verify_site'],
    closing: [],
    looksOnly: true,
  },
};

const actionNames = Object.keys(actionTable) as ActionName[];

/** Sorts of actions: of each, one runs at a time. */
export const actionSorts = [
  actionNames.filter((name) => actionTable[name].looksOnly !== true),
  actionNames.filter((name) => actionTable[name].looksOnly === true),
] as const;

/** Returns the actions that this one can't run beside, itself among them. */
export function actionsLike(name: ActionName): readonly ActionName[] {
  return actionSorts[actionTable[name].looksOnly === true ? 1 : 0];
}

/** Shipyard's actions that Baton does not have, each with what to do instead. */
const unsupportedActions: Readonly<Record<string, string>> = {
  update_software: 'Baton deploys no charts; deploy them with the tools of your cluster',
  test_site: 'Baton runs no tests of the software on a site; verify_site compares nodes with their documents',
};

/** @throws AppError `invalid_argument` naming the actions that there are. */
export function readActionName(name: string): ActionName {
  const found = actionNames.find((each) => each === name);
  if (found) return found;
  const instead = Object.hasOwn(unsupportedActions, name) ? unsupportedActions[name] : undefined;
  if (instead !== undefined) {
    throw new AppError('invalid_argument', `Unable to start action: name: ${name} is not supported: ${instead}`);
  }
  const meant = nearestWord(name, actionNames);
  throw new AppError(
    'invalid_argument',
    `Unable to start action: name: there is no action '${name}'; ${meant === undefined ? '' : `did you mean ${meant}? It `}` +
      `must be one of ${actionNames.join(', ')}`,
  );
}

/** @throws AppError `invalid_argument` naming the parameter, and those that the action has. */
export function readActionParameters(name: ActionName, given: Readonly<Record<string, unknown>>): ActionParameters {
  const { parameters: legal, required = [] } = actionTable[name];
  return parseParameters({ name, legal, required }, given);
}

/**
 * Parameters of the action that were not given, as the site's documents have them.
 * @throws AppError `invalid_argument` when those and the given ones can't go together
 */
export function readSiteDefaults(
  name: ActionName,
  given: ActionParameters,
  defaults: SiteDefaults,
): Readonly<Record<string, number>> {
  const legal = new Set<string>(actionTable[name].parameters);
  const known = new Set(Object.keys(given));
  const own = Object.entries(defaults).flatMap(([key, value]) =>
    legal.has(key) && !known.has(key) && value !== undefined ? [[key, value] as const] : [],
  );
  const fromSite = Object.fromEntries(own);
  // a drain that was asked to be shorter than the site's pods get is not refused: they get their part of it
  const { 'drain-node-grace-period': grace } = fromSite;
  if ((grace ?? 0) >= (given['drain-node-timeout'] ?? Infinity)) delete fromSite['drain-node-grace-period'];
  requireDrainTimes({ ...given, ...fromSite });
  return fromSite;
}
