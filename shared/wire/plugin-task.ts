import { z } from 'zod';

/** The agent's step that runs a plugin's shell task (`conductor/sites/plugins`). */
export const pluginTaskStep = { interface: 'deploy', step: 'run_plugin_task' } as const;

/** All of a plugin's files together, before base64: scripts. What is larger belongs on an HTTP server. */
export const maxPluginBytes = 1024 * 1024;

/** Its arguments. The conductor adds files and the node's name when it sends the step: they are in no plan. */
export const PluginTaskArgs = z.strictObject({
  plugin: z.string().min(1).describe("the plugin's name"),
  version: z.string().min(1).describe("the plugin's version"),
  task: z.int().min(1).describe("the task's place in the plugin's tasks.yaml"),
  stage: z
    .string()
    .regex(/^(pre|post)_deployment(\/.*)?$/)
    .describe('pre_deployment: in the ramdisk; post_deployment: in the deployed system; as tasks.yaml has it'),
  cmd: z.string().min(1).describe('given to /bin/sh -c'),
  timeout: z.number().positive().max(86_400).describe('seconds'),
  cwd: z.string().optional().describe("folder, from that of the plugin's files, which is the default"),
  env: z.record(z.string(), z.string()).optional().describe('environment variables; no secrets'),
  node_name: z.string().optional().describe("the node's name, for $BATON_NODE_NAME"),
  plugin_files: z
    .record(z.string(), z.strictObject({ content: z.string(), executable: z.boolean() }))
    .optional()
    .describe("the plugin's files by path, in base64"),
});
export type PluginTaskArgs = z.infer<typeof PluginTaskArgs>;

/** `deploy.sh`, `lib/common.sh`: below the plugin's folder, and written in one way only. */
export function isPluginPath(path: string): boolean {
  const parts = path.split('/');
  return (
    path.length <= 255 && !/[\\\0]/.test(path) && parts.every((part) => part !== '' && part !== '.' && part !== '..')
  );
}
