import { describeSettings } from '#conductor/start/environment.ts';

/** Where the package keeps things, and that it asks callers who they are. */
const packaged: Readonly<Record<string, string>> = {
  BATON_AUTH: 'token',
  BATON_RAMDISK_DIR: '/usr/lib/baton/ramdisk',
  BATON_IMAGES_DIR: '/var/lib/baton/images',
};

const introduction = [
  '# Settings of the conductor: `systemctl restart baton` makes changes take effect. All others are shown with their defaults.',
  '# To serve machines, set BATON_HOST to the address at which they reach this host.',
];

const lineWidth = 100;

/** `/etc/baton/baton.env`, as systemd reads it: every setting with its meaning, commented out but for what the package needs. */
export function settingsFile(): string {
  const settings = describeSettings().map(({ name, meaning, default: fallback }) => {
    const value = packaged[name];
    const assignment = value === undefined ? `#${name}=${fallback.includes(' ') ? '' : fallback}` : `${name}=${value}`;
    return [...wrap(meaning), assignment].join('\n');
  });
  return `${[introduction.join('\n'), ...settings].join('\n\n')}\n`;
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > lineWidth) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
