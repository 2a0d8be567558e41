import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { AgentContext } from '#agent/context.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { inDeployedSystem } from '#agent/plugin/in-deployed-system.ts';
import { runScript, writtenDevice } from '#agent/scripts/run-script.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { StepOutcome } from '#shared/steps/define-step.ts';
import { isPluginPath, type PluginTaskArgs } from '#shared/wire/step.ts';

/** In the deployed system, on the empty /run that is mounted there: nothing of it stays on the disk. */
const folderInside = '/run/baton-plugin';

/** Goes to the folder first; `$0` and `$1`, so that neither is read as shell text but the command itself. */
const inFolder = 'cd "$0" && exec /bin/sh -c "$1"';

/**
 * Runs a task's command with the plugin's files: before the image is written in the ramdisk, afterwards in the deployed
 * system, which is found and mounted again for each task.
 * @throws AppError with the command and where it ran; its cause has the end of what it wrote to standard error.
 */
export async function runPluginTask(context: AgentContext, task: PluginTaskArgs): Promise<StepOutcome> {
  const isPre = task.stage.startsWith('pre_deployment');
  try {
    return isPre ? await runInRamdisk(context, task) : await runInside(context, task);
  } catch (cause) {
    const where = isPre ? 'in the ramdisk' : 'in the deployed system';
    throw new AppError(errorCode(cause), `run ${JSON.stringify(task.cmd.slice(0, 200))} ${where}`, { cause });
  }
}

async function runInRamdisk(context: AgentContext, task: PluginTaskArgs): Promise<StepOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-plugin-'));
  try {
    await placePluginFiles(folder, task.plugin_files ?? {});
    return await runScript(context, {
      name: titleOf(task),
      argv: ['/bin/sh', '-c', inFolder, resolve(folder, task.cwd ?? '.'), task.cmd],
      timeout: task.timeout,
      env: environment(task, context, writtenDevice(context)),
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runInside(context: AgentContext, task: PluginTaskArgs): Promise<StepOutcome> {
  return inDeployedSystem(context, async (system, device) => {
    const folder = await resolveInside(system.root, folderInside);
    await mkdir(folder, { recursive: true });
    await placePluginFiles(folder, task.plugin_files ?? {});
    return runScript(
      { ...context, run: system.run },
      {
        name: titleOf(task),
        argv: ['/bin/sh', '-c', inFolder, resolve(folderInside, task.cwd ?? '.'), task.cmd],
        timeout: task.timeout,
        env: { HOME: '/root', ...environment(task, context, device) },
      },
    );
  });
}

function environment(
  task: PluginTaskArgs,
  { node }: Pick<AgentContext, 'node'>,
  device: string | null,
): Readonly<Record<string, string>> {
  return {
    ...task.env,
    BATON_NODE_UUID: node.uuid,
    BATON_NODE_NAME: task.node_name ?? '',
    BATON_PLUGIN: task.plugin,
    BATON_PLUGIN_VERSION: task.version,
    BATON_TASK: String(task.task),
    BATON_STAGE: task.stage,
    BATON_ROOT_DEVICE: device ?? '',
  };
}

function titleOf({ plugin, task, stage }: PluginTaskArgs): string {
  return `plugin ${plugin}: task ${task} (${stage})`;
}

/**
 * Writes a plugin's files below a folder that is empty, or holds the same plugin's from an earlier run.
 * @throws AppError `invalid_argument` for a path that leads elsewhere, `storage_error`
 */
async function placePluginFiles(folder: string, files: NonNullable<PluginTaskArgs['plugin_files']>): Promise<void> {
  for (const [path, { content, executable }] of Object.entries(files)) {
    if (!isPluginPath(path)) throw new AppError('invalid_argument', `plugin file ${path}: the path leads elsewhere`);
    const target = join(folder, path);
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, Buffer.from(content, 'base64'), { mode: executable ? 0o755 : 0o644 });
    } catch (cause) {
      throw new AppError('storage_error', `write the plugin's file ${path}`, { cause });
    }
  }
}
