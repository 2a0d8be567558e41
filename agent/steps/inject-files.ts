import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { injectFiles } from '#agent/inject/inject-files.ts';
import { readInjectedFiles } from '#agent/inject/injected-file.ts';
import { defineStep } from '#shared/steps/define-step.ts';

const Args = z.strictObject({
  files: z
    .array(z.record(z.string(), z.unknown()))
    .nullish()
    .describe(
      "Files, each with 'path', 'partition' (number, device or label; else found by the path's first folder), " +
        "'content' (base64, or a URL with {node[uuid]} filled in) or 'deleted', 'mode', 'dirmode', 'owner', 'group'. " +
        'Those of properties.inject_files come first',
    ),
  verify_ca: z
    .boolean()
    .nullish()
    .describe("Whether the certificates of the contents' servers are checked; default true"),
});

/** Puts files on the installed disk, or removes them (agent-protocol.md §6.6). */
export const injectFilesStep = defineStep<AgentContext, z.infer<typeof Args>>({
  interface: 'deploy',
  step: 'inject_files',
  priorities: { deploy: 0, service: 0 },
  destroys: 'none',
  description: "Writes files to the installed disk's partitions, or removes them",
  args: Args,
  run: async (context, { files, verify_ca: verify }) => {
    const list = readInjectedFiles(context.node.properties, files);
    return { kind: 'done', output: { files: await injectFiles(context, list, verify ?? true) } };
  },
});
