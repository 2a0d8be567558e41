import { z } from 'zod';
import type { ActionName } from '#conductor/db/schema/site-action.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What actions are made of; `step-table.ts` has what each does. */
export type ActionStepName =
  | 'preflight'
  | 'validate_site_design'
  | 'verify_site'
  | 'baremetal_nodes'
  | 'relabel_nodes'
  | 'final_report'
  | 'tag_revision';

/** `true`, or the text that `--param` sends. */
const flag = z
  .union([z.boolean(), z.enum(['true', 'false'])], { error: 'must be true or false' })
  .transform((value) => value === true || value === 'true');

/** A list, or names with commas between them, as `--param` sends them: Shipyard's API takes one and its worker the other. */
const nodeNames = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(','))], { error: 'must be a list of names' })
  .transform((names) => [...new Set(names.map((name) => name.trim()))])
  .refine((names) => names.length > 0 && !names.includes(''), { error: 'must be a list of names, at least one' });

const parameters = {
  'allow-intermediate-commits': flag.optional(),
  'continue-on-fail': flag.optional(),
  dry_run: flag.optional(),
  target_nodes: nodeNames.optional(),
} as const;
type ParameterName = keyof typeof parameters;

export interface ActionParameters {
  readonly 'allow-intermediate-commits'?: boolean | undefined;
  readonly 'continue-on-fail'?: boolean | undefined;
  readonly dry_run?: boolean | undefined;
  readonly target_nodes?: readonly string[] | undefined;
}

interface ActionDefinition {
  /** Brings the site to what the documents say: guarded against intermediate commits, and tags the revision (seed 001). */
  readonly isTrueUp: boolean;
  readonly parameters: readonly ParameterName[];
  readonly required?: readonly ParameterName[];
  readonly steps: readonly ActionStepName[];
  /** Why it can't be had yet. */
  readonly unbuilt?: string;
}

const trueUpSteps = [
  'preflight',
  'validate_site_design',
  'verify_site',
  'baremetal_nodes',
  'final_report',
  'tag_revision',
] as const;

/** THE table of site actions (airship.md §4.1, §4.5). */
export const actionTable: Readonly<Record<ActionName, ActionDefinition>> = {
  deploy_site: { isTrueUp: true, parameters: ['allow-intermediate-commits', 'dry_run'], steps: trueUpSteps },
  update_site: {
    isTrueUp: true,
    parameters: ['allow-intermediate-commits', 'continue-on-fail', 'dry_run'],
    steps: trueUpSteps,
  },
  redeploy_server: {
    isTrueUp: true,
    parameters: ['allow-intermediate-commits', 'target_nodes'],
    required: ['target_nodes'],
    steps: [],
    unbuilt:
      'redeploy_server tears servers down first, which Baton can not do yet; undeploy the node (`baton undeploy`), ' +
      'then start update_site, which deploys it again',
  },
  relabel_nodes: {
    isTrueUp: false,
    parameters: ['target_nodes'],
    required: ['target_nodes'],
    steps: ['preflight', 'validate_site_design', 'relabel_nodes'],
  },
  verify_site: {
    isTrueUp: false,
    parameters: ['target_nodes'],
    steps: ['preflight', 'validate_site_design', 'verify_site'],
  },
};

const actionNames = Object.keys(actionTable) as ActionName[];
const builtNames = actionNames.filter((name) => actionTable[name].unbuilt === undefined);

/** @throws AppError `invalid_argument` naming the actions that there are. */
export function readActionName(name: string): ActionName {
  const found = actionNames.find((each) => each === name);
  if (found) return found;
  throw new AppError(
    'invalid_argument',
    `Unable to start action: name: there is no action '${name}'; must be one of ${builtNames.join(', ')}`,
  );
}

/** @throws AppError `invalid_argument` naming the parameter, and those that the action has. */
export function readActionParameters(name: ActionName, given: Readonly<Record<string, unknown>>): ActionParameters {
  const { parameters: legal, required = [] } = actionTable[name];
  const hint = `${name} has ${legal.join(', ')}`;
  for (const key of Object.keys(given)) {
    if (legal.some((each) => each === key)) continue;
    throw new AppError('invalid_argument', `parameters.${key}: ${name} has no such parameter; ${hint}`);
  }
  const missing = required.find((key) => given[key] === undefined);
  if (missing) throw new AppError('invalid_argument', `parameters.${missing}: ${name} needs it`);
  const parsed = z.object(parameters).safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new AppError('invalid_argument', `parameters.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is wrong'}`);
}
