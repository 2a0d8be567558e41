import { z } from 'zod';
import { findSecrets } from '#conductor/model/secret-names.ts';
import { parseYaml } from '#conductor/sites/documents/yaml/parse-yaml.ts';
import { type PluginTask, parseStage, type TaskStage, type TaskWork } from '#conductor/sites/plugins/plugin-task.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { stepInterfaces } from '#shared/wire/step.ts';
import { nameSome } from '#shared/words.ts';

/** One thing that is wrong in a `tasks.yaml`. */
export interface TaskFault {
  /** From 1; absent = the file as a whole. */
  readonly task?: number;
  /** `parameters.timeout` */
  readonly field?: string;
  readonly message: string;
}

const maxTasks = 200;
/** Reported at most. */
const maxFaults = 200;
const maxTimeout = 86_400;
const types = ['shell', 'step', 'reboot'] as const;

/** Id of a task; `plugin/id` names one of another plugin. */
const taskId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const taskName = /^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,62}\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

const Id = z.string().regex(taskId, 'it must be letters, digits, ".", "_" and "-", 63 at most');
const Names = z
  .array(z.string().regex(taskName, 'it must be the id of a task, or PLUGIN/ID for another plugin’s'))
  .max(200, 'it must have 200 names at most');
const Text = z.string({ error: 'it must be text' }).refine((text) => !text.includes('\0'), 'it must not contain a NUL');
const Timeout = z
  .number({ error: 'it must be a number of seconds' })
  .positive('it must be above 0 seconds')
  .max(maxTimeout, `it must be ${maxTimeout} seconds at most`);

const Role = z.string().min(1, 'it must not be empty');
const Roles = z.union([Role, z.array(Role).min(1, 'it must name at least one role')], {
  error: "it must be a role, a list of roles, or '*' for all nodes",
});

const Common = z.strictObject({
  id: Id.optional(),
  role: Roles,
  stage: z.string({ error: 'it must be text: pre_deployment or post_deployment/100' }),
  type: z.enum(types, {
    error: ({ input }) => `${JSON.stringify(input)}: it must be ${types.join(', ')}; puppet and others are not run`,
  }),
  requires: Names.default([]),
  required_for: Names.default([]),
  parameters: z.unknown().optional(),
});

const EnvironmentValue = z.union([Text, z.number(), z.boolean()], { error: 'it must be text' }).transform(String);
const Environment = z.record(
  z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'a variable’s name is letters, digits and "_"')
    .refine((name) => !name.startsWith('BATON_'), 'names that begin with BATON_ are Baton’s own'),
  EnvironmentValue,
);

const parameters = {
  shell: z.strictObject({
    cmd: Text.min(1, 'it must not be empty').max(
      4096,
      'it must be 4096 characters at most: longer ones belong into a script',
    ),
    timeout: Timeout,
    cwd: Text.min(1, 'it must not be empty').max(1024).optional(),
    env: Environment.optional(),
  }),
  step: z.strictObject({
    interface: z.enum(stepInterfaces, { error: `it must be one of ${stepInterfaces.join(', ')}` }),
    step: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'it must be the name of an agent’s step'),
    args: z.record(z.string(), z.json()).default({}),
    timeout: Timeout.optional(),
  }),
  reboot: z.strictObject({ timeout: Timeout }),
} as const;

/**
 * A plugin's `tasks.yaml` (seed 002): its tasks in the file's order, or all that is wrong with it.
 * @param plugin its name, which bare ids in `requires` and `required_for` belong to
 */
export function parseTasks(text: string, plugin: string): { tasks: PluginTask[]; faults: TaskFault[] } {
  let list: unknown;
  try {
    list = parseYaml(text);
  } catch (error) {
    return { tasks: [], faults: [{ message: `it is not valid YAML: ${errorChain(error)}` }] };
  }
  if (!Array.isArray(list) || list.length === 0 || list.length > maxTasks) {
    return { tasks: [], faults: [{ message: `it must be a list of 1 to ${maxTasks} tasks` }] };
  }
  const faults: TaskFault[] = [];
  const tasks = list.flatMap((each, index) => {
    const parsed = parseTask(each, plugin);
    faults.push(...parsed.faults.map((fault) => ({ task: index + 1, ...fault })));
    return parsed.task ? [parsed.task] : [];
  });
  // a task with a fault may be the one that is named: one round more rather than faults that are none
  if (faults.length === 0) faults.push(...checkIds(tasks, plugin));
  return { tasks: faults.length > 0 ? [] : tasks, faults: firstOf(faults) };
}

function firstOf(faults: readonly TaskFault[]): TaskFault[] {
  if (faults.length <= maxFaults) return [...faults];
  return [...faults.slice(0, maxFaults), { message: `${faults.length - maxFaults} faults more` }];
}

/** `tasks.yaml: task 2: parameters.timeout: it must be …` */
export function describeFault({ task, field, message }: TaskFault): string {
  return ['tasks.yaml', task === undefined ? undefined : `task ${task}`, field, message].filter(Boolean).join(': ');
}

function parseTask(
  value: unknown,
  plugin: string,
): { readonly task?: PluginTask; readonly faults: Omit<TaskFault, 'task'>[] } {
  const common = Common.safeParse(value);
  const faults = common.success ? [] : faultsOf(common.error);
  const given = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const stage = typeof given['stage'] === 'string' ? readStage(given['stage'], faults) : undefined;
  const type = types.find((each) => each === given['type']);
  const work = type && readWork(type, given['parameters'], faults);
  if (!common.success || !stage || !work) return { faults };
  const { id, role, requires, required_for: requiredFor } = common.data;
  const roles = typeof role === 'string' ? [role] : role;
  return {
    faults,
    task: {
      ...work,
      ...(id === undefined ? {} : { id }),
      roles: roles.includes('*') ? '*' : [...new Set(roles)],
      stage,
      requires: requires.map((name) => fullName(name, plugin)),
      requiredFor: requiredFor.map((name) => fullName(name, plugin)),
    },
  };
}

function readStage(text: string, faults: Omit<TaskFault, 'task'>[]): TaskStage | undefined {
  try {
    return parseStage(text);
  } catch (error) {
    faults.push({ field: 'stage', message: errorChain(error) });
    return undefined;
  }
}

function readWork(
  type: (typeof types)[number],
  value: unknown,
  faults: Omit<TaskFault, 'task'>[],
): TaskWork | undefined {
  const parsed = z.object({ parameters: parameters[type] }).safeParse({ parameters: value ?? {} });
  if (!parsed.success) {
    faults.push(...faultsOf(parsed.error));
    return undefined;
  }
  const given = Object.entries(parsed.data.parameters).filter(([, each]) => each !== undefined);
  const work = Object.fromEntries(given);
  const secrets = secretFaults(work);
  faults.push(...secrets);
  if (secrets.length > 0) return undefined;
  return { type, ...work } as TaskWork;
}

/** They are shown to everyone who may read plugins and plans. */
function secretFaults(work: Readonly<Record<string, unknown>>): Omit<TaskFault, 'task'>[] {
  return findSecrets(work).map(({ path, kind }) => ({
    field: ['parameters', ...path].join('.'),
    message: `it has ${kind === 'login' ? 'a URL with a login' : 'a secret'}, which everybody who may read plugins would see: let the task fetch it on the node`,
  }));
}

function faultsOf(error: z.ZodError): Omit<TaskFault, 'task'>[] {
  return error.issues.map((issue) => {
    const message = issue.code === 'unrecognized_keys' ? `unknown field ${issue.keys.join(', ')}` : issue.message;
    return issue.path.length === 0 ? { message } : { field: issue.path.join('.'), message };
  });
}

function fullName(name: string, plugin: string): string {
  return name.includes('/') ? name : `${plugin}/${name}`;
}

function checkIds(tasks: readonly PluginTask[], plugin: string): TaskFault[] {
  const faults: TaskFault[] = [];
  const own = new Set<string>();
  for (const [index, { id }] of tasks.entries()) {
    if (id === undefined) continue;
    const name = fullName(id, plugin);
    if (own.has(name)) faults.push({ task: index + 1, field: 'id', message: `${id} is another task's id already` });
    own.add(name);
  }
  const there = nameSome([...own], 10) || 'none of its tasks has an id';
  for (const [index, task] of tasks.entries()) {
    for (const field of ['requires', 'requiredFor'] as const) {
      const unknown = task[field].filter((name) => name.startsWith(`${plugin}/`) && !own.has(name));
      for (const name of unknown) {
        const at = field === 'requires' ? 'requires' : 'required_for';
        faults.push({ task: index + 1, field: at, message: `there is no task ${name}: there are ${there}` });
      }
    }
  }
  return faults;
}
