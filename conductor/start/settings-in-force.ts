import type { SettingInForce } from '#conductor/api/records.ts';
import { describeSettings } from '#conductor/start/environment.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

/** Of URLs' queries and kernel parameters; settings that are secrets themselves are files. */
const secret = /(\b\w*(?:password|passwd|secret|token)\w*=)[^&#\s]+/gi;

/** Each setting with what counts on this conductor, without logins, and whether somebody has set it. Pure. */
export function settingsInForce(environment: Readonly<Record<string, string | undefined>>): SettingInForce[] {
  return describeSettings().map(({ name, meaning, default: fallback }) => {
    const given = environment[name] ?? '';
    const isAllSecret = name.endsWith('_HEADERS');
    const masked = isAllSecret
      ? given.replaceAll(/=[^,]*/g, '=******')
      : maskUrlLogins(given).replaceAll(secret, '$1******');
    const value = given === '' ? fallback : masked;
    return { name, value, default: fallback, from: given === '' ? 'default' : 'environment', meaning };
  });
}
