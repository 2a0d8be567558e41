import { type SwitchServer, startSwitchServer } from '#test/simulators/switch/switch-server.ts';

/** Name of an output that follows what a question is answered with. */
export const afterEnter = '(Enter)';

/**
 * Shows a recorded session again, echo and prompts too: by command what its terminal showed, `login` first. Commands that
 * were not recorded do nothing.
 */
export function startRecordedSession(outputs: Readonly<Record<string, string>>): Promise<SwitchServer> {
  const prompt = (outputs['login'] ?? '').split('\n').at(-1) ?? '';
  return startSwitchServer({
    openShell: () => ({
      prompt: () => outputs['login'] ?? '',
      execute: () => '',
      show: (command) => {
        const shown = outputs[command === '' ? afterEnter : command];
        // a prompt amid the text is shown before what follows has come
        return shown === undefined ? [`${command}\n${prompt}`] : splitAfter(shown, prompt);
      },
    }),
  });
}

function splitAfter(shown: string, prompt: string): string[] {
  const [first = '', ...more] = shown.split(`\n${prompt}`);
  return [first, ...more.flatMap((rest) => [`\n${prompt}`, ...(rest === '' ? [] : [rest])])];
}
