import { CircleCheck, TriangleAlert, X } from "lucide-react";
import {
  Button,
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastRegion as ToastRegion,
} from "react-aria-components";

import { noticeQueue } from "./notices";

/** The notices at the edge of the page, a landmark whose news screen readers announce. */
export function NoticeRegion() {
  return (
    <ToastRegion queue={noticeQueue} aria-label="Notices" className="notices">
      {({ toast }) => {
        const { kind, text, action } = toast.content;
        const Icon = kind === "error" ? TriangleAlert : CircleCheck;
        return (
          <Toast toast={toast} className={`notice notice-${kind}`}>
            <Icon size={16} aria-hidden />
            <ToastContent className="notice-text">
              <Text slot="title">{text}</Text>
            </ToastContent>
            {action !== undefined && (
              <Button
                className="button"
                onPress={() => {
                  noticeQueue.close(toast.key);
                  action.act();
                }}
              >
                {action.name}
              </Button>
            )}
            <Button slot="close" aria-label="Close" className="button button-quiet button-icon">
              <X size={14} aria-hidden />
            </Button>
          </Toast>
        );
      }}
    </ToastRegion>
  );
}
