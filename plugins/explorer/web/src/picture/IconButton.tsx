import type { LucideIcon } from "lucide-react";
import { Button, Tooltip, TooltipTrigger } from "react-aria-components";

interface Props {
  icon: LucideIcon;
  label: string;
  onPress(): void;
  isDisabled?: boolean;
}

/** A button of a sign, which says what it does when one points at it. */
export function IconButton({ icon: Icon, label, onPress, isDisabled = false }: Props) {
  return (
    <TooltipTrigger delay={400}>
      <Button
        className="button button-small button-icon"
        aria-label={label}
        onPress={onPress}
        isDisabled={isDisabled}
      >
        <Icon size={15} aria-hidden />
      </Button>
      <Tooltip>{label}</Tooltip>
    </TooltipTrigger>
  );
}
