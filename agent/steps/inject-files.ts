import type { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { injectFiles } from '#agent/inject/inject-files.ts';
import { readInjectedFiles } from '#shared/in-band/injected-file.ts';
import { InjectFilesArgs } from '#shared/in-band/step-args.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Puts files on the installed disk, or removes them (agent-protocol.md §6.6). */
export const injectFilesStep = defineStep<AgentContext, z.infer<typeof InjectFilesArgs>>({
  interface: 'deploy',
  step: 'inject_files',
  priorities: { deploy: 0, service: 0 },
  destroys: 'none',
  description: "Writes files to the installed disk's partitions, or removes them",
  args: InjectFilesArgs,
  run: async (context, { files, verify_ca: verify }) => {
    const list = readInjectedFiles(context.node.properties, files);
    return { kind: 'done', output: { files: await injectFiles(context, list, verify ?? true) } };
  },
});
